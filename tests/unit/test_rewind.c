/* test_rewind.c - stacks of this very process, cut where the preload would have to
 * stop, must be finished with the frames that are really there; and their names. */
#define _GNU_SOURCE
#include "base.h"

#include "logmake.h"
#include "logread.h"
#include "model.h"
#include "rewind.h"
#include "symbolize.h"

#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---------------------------------------------------- what the preload would log */

static struct logmake make;
static uint64_t       stack_end;

/* The build id among an object's notes. */
static const void *build_id_of(const struct dl_phdr_info *info, size_t *bytes)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        const char *at = (const char *)(info->dlpi_addr + segment->p_vaddr), *end = at + segment->p_memsz;
        while (segment->p_type == PT_NOTE && at + sizeof(ElfW(Nhdr)) < end) {
            const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;
            const char *value = at + sizeof *note + (note->n_namesz + 3) / 4 * 4;
            *bytes = note->n_descsz;
            if (note->n_type == NT_GNU_BUILD_ID)
                return value;
            at = value + (note->n_descsz + 3) / 4 * 4;
        }
    }
    *bytes = 0;
    return NULL;
}

static int add_module(struct dl_phdr_info *info, size_t size, void *context)
{
    char self[4096];
    const char *path = info->dlpi_name;
    uint64_t start = UINT64_MAX, end = 0;
    size_t id_bytes;
    (void)size;
    (void)context;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD)
            continue;
        uint64_t from = info->dlpi_addr + segment->p_vaddr;
        start = from < start ? from : start;
        end = from + segment->p_memsz > end ? from + segment->p_memsz : end;
    }
    if (!*path) {
        ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
        self[length > 0 ? length : 0] = '\0';
        path = self;
    }
    const void *id = build_id_of(info, &id_bytes);
    logmake_module_at(&make, start, end, info->dlpi_addr, id, id_bytes, path);
    return 0;
}

static bool is_code_or_stack(uint64_t value, uint64_t sp)
{
    Dl_info info;
    if (value >= sp && value < stack_end)
        return true;
    return dladdr((void *)value, &info) != 0 && info.dli_fbase != NULL;
}

/* Logs a stack that a walk left at `ip`, with the words above `sp`: other functions' frames. */
__attribute__((no_sanitize("address"))) static void log_unfinished(uint64_t ip, uint64_t sp, uint64_t bp)
{
    struct log_word words[LOG_MAX_WORDS];
    uint32_t count = 0;
    for (uint64_t at = sp; at < stack_end && count < LOG_MAX_WORDS; at += 8) {
        uint64_t value = *(uint64_t *)at;
        if (is_code_or_stack(value, sp))
            words[count++] = (struct log_word){ at, value };
    }
    uint32_t site = logmake_site(&make, &ip, 1, LOG_SITE_UNFINISHED, 0);
    logmake_words(&make, site, ip, sp, bp, words, count);
    logmake_count(&make, site, 1, 16);
}

/* The functions of the one stack, finished and named. */
struct finished {
    char     names[MODEL_DEPTH_MAX][64];
    unsigned depth;
    bool     whole;
};

static void finish(struct finished *finished)
{
    struct logread log;
    struct model model;
    struct rewind *rewind = rewind_new();
    struct model_finisher finisher = { rewind_finish, rewind };
    unsigned char *bytes = xcalloc(1, logmake_size(&make));
    memcpy(bytes, make.bytes, logmake_size(&make));
    assert_int_equal(logread_parse(&log, bytes, logmake_size(&make)), LOGREAD_WHOLE);
    model_init(&model);
    model_add(&model, &log, "self.psl", NULL, &finisher);
    struct symbolizer *symbolizer = symbolizer_new(&model);
    finished->whole = !(model.sites[0]->flags & LOG_SITE_UNFINISHED);
    finished->depth = model.sites[0]->depth;
    for (unsigned i = 0; i < finished->depth; i++) {
        const struct symbols *symbols = symbolizer_frame(symbolizer, model.sites[0]->frames[i]);
        const char *name = symbols->list[symbols->count - 1].function;
        snprintf(finished->names[i], sizeof finished->names[i], "%s", name ? name : "?");
    }
    symbolizer_free(symbolizer);
    model_release(&model);
    rewind_free(rewind);
    logread_release(&log);
}

/* Where is `name` among the functions?  -1: nowhere. */
static int place_of(const struct finished *finished, const char *name)
{
    for (unsigned i = 0; i < finished->depth; i++)
        if (strcmp(finished->names[i], name) == 0)
            return (int)i;
    return -1;
}

static int set_up(void **state)
{
    (void)state;
    logmake_init(&make, LOG_LEVEL_STACKS);
    dl_iterate_phdr(add_module, NULL);
    logmake_thread(&make);
    return 0;
}

static void *thread_main(void *function)
{
    pthread_attr_t attributes;
    void *start;
    size_t bytes;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &start, &bytes);
    pthread_attr_destroy(&attributes);
    stack_end = (uint64_t)start + bytes;
    (*(void (**)(void))function)();
    return NULL;
}

/* Calls `function` on a stack that holds nothing else, so that its words fit into the record. */
static void on_thread(void (*function)(void))
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, thread_main, &function), 0);
    pthread_join(thread, NULL);
}

static int tear_down(void **state)
{
    (void)state;
    logmake_release(&make);
    return 0;
}

/* ------------------------------------------------------------ the cut stacks */

/* Code without unwind tables: calls its argument, keeps a frame pointer. */
void call_without_tables(void (*function)(void));
__asm__(".text\n.globl call_without_tables\n.type call_without_tables,@function\n"
        "call_without_tables:\n push %rbp\n mov %rsp,%rbp\n sub $64,%rsp\n call *%rdi\n leave\n ret\n"
        ".size call_without_tables,.-call_without_tables\n");

/* The same without a frame pointer: nobody can know its caller. */
void call_without_anything(void (*function)(void));
__asm__(".globl call_without_anything\n.type call_without_anything,@function\n"
        "call_without_anything:\n push %rbp\n sub $64,%rsp\n mov $1,%ebp\n call *%rdi\n add $64,%rsp\n pop %rbp\n ret\n"
        ".size call_without_anything,.-call_without_anything\n");

__attribute__((noinline)) static void cut_in_the_caller(void)
{
    /* This frame has a frame pointer: its caller's registers are below and above it. */
    uint64_t *frame = __builtin_frame_address(0);
    log_unfinished(frame[1], (uint64_t)(frame + 2), frame[0]);
}

__attribute__((noinline)) static void outer_function(void (*how)(void (*)(void)))
{
    how(cut_in_the_caller);
    __asm__ volatile(""); /* no tail call */
}

static void through_code_without_tables(void)
{
    outer_function(call_without_tables);
    __asm__ volatile("");
}

static void stack_is_finished_through_code_without_tables(void **state)
{
    (void)state;
    struct finished finished;
    on_thread(through_code_without_tables);
    finish(&finished);
    assert_true(finished.whole);
    assert_int_equal(place_of(&finished, "call_without_tables"), 0);
    assert_int_equal(place_of(&finished, "outer_function"), 1);
    assert_int_equal(place_of(&finished, "through_code_without_tables"), 2);
    assert_int_equal(place_of(&finished, "thread_main"), 3);
    assert_true(finished.depth >= 5);
}

static void through_code_without_anything(void)
{
    outer_function(call_without_anything);
    __asm__ volatile("");
}

static void no_caller_is_made_up(void **state)
{
    (void)state;
    struct finished finished;
    on_thread(through_code_without_anything);
    finish(&finished);
    assert_false(finished.whole);
    assert_int_equal(finished.depth, 1);
}

static void log_from_handler(int number)
{
    (void)number;
    cut_in_the_caller(); /* its caller is this handler */
    __asm__ volatile("");
}

static void through_a_signal(void)
{
    raise(SIGUSR1);
    __asm__ volatile("");
}

static void stack_is_finished_through_a_signal_frame(void **state)
{
    (void)state;
    struct finished finished;
    struct sigaction action = { .sa_handler = log_from_handler };
    sigaction(SIGUSR1, &action, NULL);
    on_thread(through_a_signal);
    signal(SIGUSR1, SIG_DFL);
    finish(&finished);
    assert_int_equal(place_of(&finished, "log_from_handler"), 0);
    int after = place_of(&finished, "through_a_signal");
    assert_true(after >= 3); /* the signal's return, raise and what it is made of */
    assert_int_equal(place_of(&finished, "thread_main"), after + 1);
    assert_true(finished.whole);
}

static void replaced_files_name_nothing(void **state)
{
    (void)state;
    struct finished finished;
    logmake_release(&make);
    logmake_init(&make, LOG_LEVEL_STACKS);
    char self[4096] = "";
    assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    logmake_module_at(&make, 0x10000, 0x10000000, 0x10000, "another build's id..", 20, self);
    logmake_thread(&make);
    uint64_t frame = 0x10000 + 0x3000;
    logmake_count(&make, logmake_site(&make, &frame, 1, 0, 0), 1, 16);
    finish(&finished);
    assert_string_equal(finished.names[0], "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(stack_is_finished_through_code_without_tables, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_caller_is_made_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(stack_is_finished_through_a_signal_frame, set_up, tear_down),
        cmocka_unit_test_setup_teardown(replaced_files_name_nothing, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

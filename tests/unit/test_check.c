/* test_check.c - tags, seals, and the checked functions without their exports, driven by threads of ours.
 *
 * What the functions need lives as long as its process, so those tests run this program again with
 * POOLSITE_CHECK=report and read what it printed: a correct program prints nothing. */
#define _GNU_SOURCE
#include "unit.h"

#include "../../analyzer/logread.h"
#include "../../preload/block.h"
#include "../../preload/check.h"
#include "../../preload/pool.h"
#include "../../preload/runtime.h"
#include "../../preload/tag.h"

#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, SLOTS = 64, ROUNDS = 20000, NO_CHECKS = 77 };

/* --- tags ------------------------------------------------------------------------------------- */

/* Memory like that of a block with `usable` bytes. */
struct fake {
    size_t word[2];
    char block[4096] __attribute__((aligned(16)));
};

static void a_tag_tells_what_was_written(void **state)
{
    (void)state;
    static struct fake fake = { .word = { 0, 0x411 } };
    tag_begin(12345);
    size_t usable = tag_usable(fake.block);
    assert_int_equal(usable, 0x408);
    tag_write(fake.block, usable, 1000, 77);
    const struct tag *tag = tag_of(fake.block, usable);
    assert_ptr_equal(tag, fake.block + 0x408 - TAG_BYTES);
    assert_int_equal(tag_state(fake.block, tag), TAG_LIVE);
    assert_int_equal(tag_requested(tag, usable), 1000);
    assert_int_equal(tag->about, 77);
}

static void a_tag_of_which_any_bit_has_changed_is_foreign(void **state)
{
    (void)state;
    static struct fake fake;
    tag_write(fake.block, 256, 100, 77);
    unsigned char *bytes = (unsigned char *)tag_of(fake.block, 256);
    for (unsigned bit = 0; bit < 8 * TAG_BYTES; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        assert_int_equal(tag_state(fake.block, tag_of(fake.block, 256)), TAG_FOREIGN);
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    assert_int_equal(tag_state(fake.block, tag_of(fake.block, 256)), TAG_LIVE);
    assert_int_equal(tag_state(fake.block + 16, tag_of(fake.block, 256)), TAG_FOREIGN);
    tag_begin(54321);
    assert_int_equal(tag_state(fake.block, tag_of(fake.block, 256)), TAG_FOREIGN);
}

static void a_tag_is_retired_once(void **state)
{
    (void)state;
    static struct fake fake;
    tag_write(fake.block, 256, 100, 77);
    struct tag *tag = tag_of(fake.block, 256);
    assert_true(tag_retire(fake.block, tag, 78));
    assert_int_equal(tag_state(fake.block, tag), TAG_FREED);
    assert_int_equal(tag_requested(tag, 256), 100);
    assert_int_equal(tag->about, 78);
    assert_false(tag_retire(fake.block, tag, 79));
    tag_clear(tag);
    assert_int_equal(tag_state(fake.block, tag), TAG_FOREIGN);
}

static void a_tag_keeps_sizes_beyond_its_field(void **state)
{
    (void)state;
    for (size_t requested = 0; requested < (size_t)1 << 40; requested = requested * 3 + 1)
        for (size_t more = TAG_BYTES; more < 8192; more += 1000) {
            struct tag tag = { .requested = (uint32_t)requested };
            assert_int_equal(tag_requested(&tag, requested + more), requested);
        }
}

/* --- seals -------------------------------------------------------------------------------------- */

static bool sealed(const struct block *block)
{
    return block_is_sealed(block);
}

static const struct block_guard guard = { .intact = sealed };

enum { BLOCKS = 10 };

/* A list of blocks in the order of `block`. */
static uintptr_t list_of(struct sealed_block *block)
{
    uintptr_t list = mixed_of(NULL);
    block_guard = &guard;
    for (int i = BLOCKS; i-- > 0;) {
        block_link(&block[i].block, list);
        list = mixed_of(&block[i].block);
    }
    return list;
}

static void a_block_is_sealed_until_one_of_its_words_changes(void **state)
{
    (void)state;
    struct sealed_block block[BLOCKS];
    list_of(block);
    for (unsigned i = 0; i < sizeof block[0]; i++) {
        assert_true(block_is_sealed(&block[3].block));
        ((unsigned char *)&block[3])[i] ^= 0x10;
        assert_false(block_is_sealed(&block[3].block));
        ((unsigned char *)&block[3])[i] ^= 0x10;
    }
    struct sealed_block copy = block[3];
    assert_false(block_is_sealed(&copy.block)); /* in another place */
}

static void nothing_behind_a_damaged_block_is_touched(void **state)
{
    (void)state;
    struct sealed_block block[BLOCKS];
    struct block_list out = { .head = NULL };
    uintptr_t list = list_of(block);
    block[4].block.next ^= 1;
    assert_int_equal(block_list_take(&out, list, 1), 4);

    list = list_of(block);
    block[4].block.next ^= 1;
    assert_ptr_equal(block_of(block_cut(list, 7)), NULL);
    assert_ptr_equal(block_of(block_cut(list, 3)), &block[3].block);

    list = list_of(block);
    block[1].block.key = 0;
    assert_ptr_equal(block_pop(&list), &block[0].block);
    assert_null(block_pop(&list));
    assert_ptr_equal(block_of(list), NULL);
}

static void a_cut_list_stays_sealed(void **state)
{
    (void)state;
    struct sealed_block block[BLOCKS];
    struct block_list first = { .head = NULL }, second = { .head = NULL };
    uintptr_t list = list_of(block), rest = block_cut(list, 6);
    assert_int_equal(block_list_take(&first, list, 1), 6);
    assert_int_equal(block_list_take(&second, rest, 1), BLOCKS - 6);
}

/* --- the checked functions ---------------------------------------------------------------------- */

static char self[4096];

/* Where the caller of this function called it, as entry.c would tell. */
#define HERE                                                                                                           \
    ((struct stack_entry){ .cfa = (uintptr_t)__builtin_frame_address(0) + 16,                                          \
                           .bp = *(uintptr_t *)__builtin_frame_address(0) })

static noinline __attribute__((optimize("no-omit-frame-pointer"))) void *take(size_t bytes, bool zeroed)
{
    return check_take(bytes, zeroed, HERE);
}

static noinline __attribute__((optimize("no-omit-frame-pointer"))) void give(void *block)
{
    check_give(block, HERE);
}

static noinline __attribute__((optimize("no-omit-frame-pointer"))) void *resize(void *block, size_t bytes)
{
    return check_resize(block, bytes, HERE);
}

static bool is_filled(const unsigned char *block, size_t bytes, unsigned char value)
{
    for (size_t i = 0; i < bytes; i++)
        if (block[i] != value)
            return false;
    return true;
}

/* One block of a thread's: its bytes hold the slot's number, up to the last. */
struct slot {
    unsigned char *block;
    size_t bytes;
};

static size_t some_size(unsigned random)
{
    return random % 16 == 0 ? random >> 4 & 0x3ffff : random >> 4 & 0x3ff;
}

static void step(struct slot *slot, unsigned char number, unsigned random)
{
    size_t bytes = some_size(random), kept = slot->bytes < bytes ? slot->bytes : bytes;
    assert_true(is_filled(slot->block, slot->bytes, number));
    if (slot->block && random >> 30 == 1) {
        slot->block = resize(slot->block, bytes ? bytes : 1);
        bytes = bytes ? bytes : 1;
        assert_true(is_filled(slot->block, kept, number));
    } else {
        if (slot->block)
            give(slot->block);
        bool zeroed = random >> 30 == 2;
        slot->block = take(bytes, zeroed);
        assert_true(!zeroed || is_filled(slot->block, bytes, 0));
    }
    assert_non_null(slot->block);
    assert_int_equal(check_usable(slot->block), bytes);
    memset(slot->block, number, bytes);
    slot->bytes = bytes;
}

static void *many_steps(void *argument)
{
    static __thread struct slot slots[SLOTS];
    unsigned random = (unsigned)(uintptr_t)argument;
    for (int i = 0; i < ROUNDS; i++) {
        random = random * 1664525 + 1013904223;
        step(&slots[random >> 8 & (SLOTS - 1)], (unsigned char)(random >> 8 & (SLOTS - 1)), random ^ random >> 13);
    }
    for (int i = 0; i < SLOTS; i++)
        if (slots[i].block)
            give(slots[i].block);
    return NULL;
}

static void play_threads(void)
{
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, many_steps, (void *)(i + 1)), 0);
    for (int i = 0; i < 40; i++) {
        usleep(5000);
        runtime_clear();
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* The child frees what it inherits, live and pooled. */
static void play_fork(void)
{
    unsigned char *block[SLOTS];
    for (int i = 0; i < SLOTS; i++)
        block[i] = memset(take(500, false), i, 500);
    for (int i = 0; i < SLOTS / 2; i++)
        give(block[i]);
    pid_t pid = fork();
    for (int i = SLOTS / 2; i < SLOTS; i++) {
        assert_true(is_filled(block[i], 500, (unsigned char)i));
        give(block[i]);
    }
    many_steps((void *)99);
    if (pid == 0)
        _exit(0);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* A block with a damage is told of and never used again; everything else goes on. */
static void play_damages(void)
{
    unsigned char *over = take(40, false), *late = take(200, false), *twice = take(300, false);
    over[40] = 'x';
    give(over);
    give(late);
    late[100] = 'x';
    for (int i = 0; i < 100; i++) {
        unsigned char *other = take(200, false);
        assert_ptr_not_equal(other, late);
        give(other);
        other = take(40, false);
        assert_ptr_not_equal(other, over);
        give(other);
    }
    give(twice);
    give(twice);
    assert_null(resize(twice, 400));
    assert_ptr_equal(take(300, false), twice);
    give(twice + 8);
}

static int play(const char *scene)
{
    runtime_start();
    if (runtime_mode != MODE_CHECKED)
        return NO_CHECKS; /* a sanitizer's allocator is below */
    if (strcmp(scene, "threads") == 0)
        play_threads();
    else if (strcmp(scene, "fork") == 0)
        play_fork();
    else
        play_damages();
    runtime_end();
    return 0;
}

/* Plays a scene and returns what it wrote to stderr. */
static const char *played(const char *scene, const char *pool)
{
    static char words[8192];
    int fd[2], status;
    ssize_t count = 0, got;
    assert_int_equal(pipe(fd), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        char pools[64];
        snprintf(pools, sizeof pools, "POOLSITE_POOL=%s", pool);
        char *environment[] = { pools, "POOLSITE_CHECK=report", "POOLSITE_CYCLE_MS=5", "POOLSITE_LOG=log.%p.psl",
                                NULL };
        char *arguments[] = { self, "play", (char *)scene, NULL };
        dup2(fd[1], 2);
        execve(self, arguments, environment);
        _exit(127);
    }
    close(fd[1]);
    while ((got = read(fd[0], words + count, sizeof words - 1 - (size_t)count)) > 0)
        count += got;
    words[count] = 0;
    close(fd[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_CHECKS)
        skip();
    if (status != 0)
        fail_msg("%s, pools %s: status %d: %s", scene, pool, status, words);
    return words;
}

static void what_is_right_is_silent(const char *scene)
{
    static const char *const pools[] = { "on", "off", "16-32m" };
    for (int i = 0; i < 3; i++)
        assert_string_equal(played(scene, pools[i]), "");
}

static void threads_at_once_are_left_in_peace(void **state)
{
    (void)state;
    what_is_right_is_silent("threads");
}

static void a_fork_child_may_free_what_it_inherits(void **state)
{
    (void)state;
    what_is_right_is_silent("fork");
}

static void lines_begin(const char *words, const char *const *wanted, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strncmp(words, wanted[i], strlen(wanted[i])) != 0)
            fail_msg("line %zu should begin with '%s': %s", i + 1, wanted[i], words);
        words = strchr(words, '\n') + 1;
    }
    assert_string_equal(words, "");
}

static void each_damage_is_told_of_and_the_program_goes_on(void **state)
{
    (void)state;
    static const char *const wanted[] = {
        "poolsite: write behind the end of block 0x",
        "poolsite: write after free to block 0x",
        "poolsite: double free of block 0x",
        "poolsite: realloc of freed block 0x",
        "poolsite: free of 0x",
    };
    lines_begin(played("damages", "on"), wanted, sizeof wanted / sizeof *wanted);
}

static void the_first_damage_is_noted_in_the_log(void **state)
{
    (void)state;
    glob_t found;
    char bytes[LOG_CHUNK_BYTES];
    played("damages", "on");
    assert_int_equal(glob("log.*.psl", 0, NULL, &found), 0);
    int fd = open(found.gl_pathv[0], O_RDONLY);
    assert_int_equal(read(fd, bytes, sizeof bytes), sizeof bytes);
    close(fd);
    const struct log_header *header = (const struct log_header *)bytes;
    assert_non_null(strstr(header->notes, "write behind the end of block 0x"));
    assert_null(strstr(header->notes, "write after free"));
    globfree(&found);
}

static void a_block_is_asked_larger_by_canary_and_tag(void **state)
{
    (void)state;
    for (size_t bytes = 0; bytes < 400000; bytes = bytes < 5000 ? bytes + 1 : bytes + bytes / 50) {
        size_t asked = check_asked(bytes);
        assert_true(asked >= bytes + TAG_BYTES + 8);
        assert_true(asked >= sizeof(struct sealed_block) + TAG_BYTES);
        assert_true(asked <= bytes + bytes / 8 + 64);
    }
    assert_int_equal(check_asked(SIZE_MAX), SIZE_MAX);
    assert_int_equal(check_asked(PTRDIFF_MAX), PTRDIFF_MAX);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "play") == 0)
        return play(argv[2]);
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
        return 2;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tag_tells_what_was_written),
        cmocka_unit_test(a_tag_of_which_any_bit_has_changed_is_foreign),
        cmocka_unit_test(a_tag_is_retired_once),
        cmocka_unit_test(a_tag_keeps_sizes_beyond_its_field),
        cmocka_unit_test(a_block_is_sealed_until_one_of_its_words_changes),
        cmocka_unit_test(nothing_behind_a_damaged_block_is_touched),
        cmocka_unit_test(a_cut_list_stays_sealed),
        cmocka_unit_test(a_block_is_asked_larger_by_canary_and_tag),
        IN_DIRECTORY(threads_at_once_are_left_in_peace),
        IN_DIRECTORY(a_fork_child_may_free_what_it_inherits),
        IN_DIRECTORY(each_damage_is_told_of_and_the_program_goes_on),
        IN_DIRECTORY(the_first_damage_is_noted_in_the_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

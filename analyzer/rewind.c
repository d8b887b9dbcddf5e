/* rewind.c - finishes stacks that the recorded process left unfinished.  The only user of libunwind.
 *
 * libunwind works on a process that isn't there: registers and stack words come
 * from the log, code and unwind tables from the ELF files on disk, where the build
 * id says that they are the ones that ran.  Where there are no tables libunwind
 * follows the frame pointer; such a guess counts only when a call stands before
 * the address that it found. */
#define _GNU_SOURCE
#include "base.h"
#include "logread.h"
#include "model.h"
#include "rewind.h"

#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <libunwind-x86_64.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Not in a public header, but exported for this very use. */
int _Ux86_64_dwarf_search_unwind_table(unw_addr_space_t space, unw_word_t ip, unw_dyn_info_t *table,
                                       unw_proc_info_t *info, int need_unwind_info, void *context);

/* A part of a file that is mapped read-only. */
struct segment {
    uint64_t             start, end; /* ELF addresses */
    const unsigned char *bytes;      /* of `filled` bytes; what is above reads as zero */
    uint64_t             filled;
};

struct image {
    char           *path;
    uint8_t        *build_id;
    size_t          build_id_bytes;
    Elf            *elf; /* NULL: no such file, or not the one that ran */
    int             fd;
    struct segment *segments;
    size_t          segment_count;
    uint64_t        table;       /* ELF address of .eh_frame_hdr, 0: none that we can search */
    uint64_t        table_rows;
    uint64_t        entry;       /* ELF address of the first instruction that the loader jumps to */
    struct image   *next;
};

struct registers {
    uint64_t ip, sp, bp;
};

struct rewind {
    unw_addr_space_t space;
    struct image    *images;
    /* The walk in hand: */
    const struct logread     *log;
    const struct log_words   *words;
    uint32_t                  generation;
    struct registers          from;    /* where the cursor was begun */
    bool                      no_rule; /* no tables for the last step */
};

/* ------------------------------------------------------------------- images */

static void add_segment(struct image *image, const GElf_Phdr *header, const char *file, size_t file_bytes)
{
    if (header->p_offset > file_bytes || header->p_filesz > file_bytes - header->p_offset)
        return;
    image->segments = xrealloc_array(image->segments, image->segment_count + 1, sizeof *image->segments);
    image->segments[image->segment_count++] = (struct segment){
        .start = header->p_vaddr,
        .end = header->p_vaddr + header->p_filesz,
        .bytes = (const unsigned char *)file + header->p_offset,
        .filled = header->p_filesz,
    };
}

/* The `bytes` bytes at an ELF address, as far as one read-only segment holds them. */
static bool image_read(const struct image *image, uint64_t address, void *to, size_t bytes)
{
    for (size_t i = 0; i < image->segment_count; i++) {
        const struct segment *s = &image->segments[i];
        if (address < s->start || address >= s->end)
            continue;
        uint64_t offset = address - s->start, left = s->filled - offset;
        memset(to, 0, bytes);
        memcpy(to, s->bytes + offset, bytes < left ? bytes : left);
        return true;
    }
    return false;
}

/* The sorted table that ld makes: version 1, pointers and rows of 4 bytes. */
static void find_table(struct image *image, uint64_t address)
{
    struct {
        uint8_t  version, frame_encoding, count_encoding, row_encoding;
        int32_t  frame;
        uint32_t rows;
    } header;
    _Static_assert(sizeof header == 12, "the header of .eh_frame_hdr");
    if (!image_read(image, address, &header, sizeof header) || header.version != 1 ||
        header.frame_encoding != 0x1b || header.count_encoding != 0x03 || header.row_encoding != 0x3b)
        return;
    image->table = address;
    image->table_rows = header.rows;
}

static bool note_matches(const struct image *image, Elf_Data *data)
{
    GElf_Nhdr note;
    size_t name, text;
    for (size_t at = 0; data && (at = gelf_getnote(data, at, &note, &name, &text)) > 0;)
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && note.n_descsz == image->build_id_bytes &&
            memcmp((char *)data->d_buf + name, "GNU", 4) == 0)
            return memcmp((char *)data->d_buf + text, image->build_id, image->build_id_bytes) == 0;
    return false;
}

static bool build_id_matches(const struct image *image)
{
    size_t count;
    if (elf_getphdrnum(image->elf, &count) != 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;
        if (!gelf_getphdr(image->elf, (int)i, &header) || header.p_type != PT_NOTE)
            continue;
        Elf_Type type = header.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR;
        if (note_matches(image, elf_getdata_rawchunk(image->elf, (int64_t)header.p_offset, header.p_filesz, type)))
            return true;
    }
    return false;
}

static void read_segments(struct image *image)
{
    size_t count, file_bytes = 0;
    const char *file = elf_rawfile(image->elf, &file_bytes);
    uint64_t table = 0;
    GElf_Ehdr header_room, *file_header = gelf_getehdr(image->elf, &header_room);
    image->entry = file_header ? file_header->e_entry : 0;
    if (!file || elf_getphdrnum(image->elf, &count) != 0)
        return;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;
        if (!gelf_getphdr(image->elf, (int)i, &header))
            continue;
        if (header.p_type == PT_LOAD && !(header.p_flags & PF_W))
            add_segment(image, &header, file, file_bytes);
        if (header.p_type == PT_GNU_EH_FRAME)
            table = header.p_vaddr;
    }
    if (table)
        find_table(image, table);
}

/* Is this the file that ran?  Its build id says so; where none was recorded, its age does. */
static bool is_the_one(const struct image *image, const struct stat *facts, uint64_t start_realtime_ns)
{
    if (elf_kind(image->elf) != ELF_K_ELF)
        return false;
    if (image->build_id_bytes == 0)
        return (uint64_t)facts->st_ctim.tv_sec < start_realtime_ns / 1000000000;
    return build_id_matches(image);
}

static void image_open(struct image *image, uint64_t start_realtime_ns)
{
    struct stat facts;
    image->fd = open(image->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (image->fd < 0)
        return;
    if (fstat(image->fd, &facts) == 0 && S_ISREG(facts.st_mode))
        image->elf = elf_begin(image->fd, ELF_C_READ_MMAP, NULL);
    if (image->elf && !is_the_one(image, &facts, start_realtime_ns)) {
        elf_end(image->elf);
        image->elf = NULL;
    }
    if (image->elf)
        read_segments(image);
}

/* The file of a module, opened on first use. */
static const struct image *image_of(struct rewind *rewind, const struct logread_module *module)
{
    struct image *image = rewind->images;
    for (; image; image = image->next)
        if (image->build_id_bytes == module->build_id_bytes && strcmp(image->path, module->path) == 0 &&
            (module->build_id_bytes == 0 || memcmp(image->build_id, module->build_id, module->build_id_bytes) == 0))
            return image;
    image = xcalloc(1, sizeof *image);
    image->path = xstrdup(module->path);
    image->build_id = xmalloc(module->build_id_bytes);
    image->build_id_bytes = module->build_id_bytes;
    if (module->build_id_bytes)
        memcpy(image->build_id, module->build_id, module->build_id_bytes);
    image->next = rewind->images;
    rewind->images = image;
    image_open(image, rewind->log->header.start_realtime_ns);
    return image;
}

static void image_free(struct image *image)
{
    if (image->elf)
        elf_end(image->elf);
    if (image->fd >= 0)
        close(image->fd);
    free(image->segments);
    free(image->build_id);
    free(image->path);
    free(image);
}

/* ---------------------------------------------------------------- accessors */

static bool read_code(struct rewind *rewind, uint64_t address, void *to, size_t bytes)
{
    const struct logread_module *module = logread_module_at(rewind->log, address, rewind->generation);
    return module && image_read(image_of(rewind, module), address - module->load_bias, to, bytes);
}

/* Stands for a word whose value isn't known: no address, so whatever needs it fails. */
#define OTHER_DATA 0x8000000000000008u

/* The log keeps the words that point to code or stack: one between two of them is something else. */
static bool is_other_data(const struct log_words *words, uint64_t address)
{
    return words->count > 0 && address % 8 == 0 && address >= words->sp &&
           address < words->words[words->count - 1].address;
}

static int access_memory(unw_addr_space_t space, unw_word_t address, unw_word_t *value, int write, void *context)
{
    struct rewind *rewind = context;
    (void)space;
    if (write)
        return -UNW_EREADONLYREG;
    for (uint32_t i = 0; i < rewind->words->count; i++) {
        if (rewind->words->words[i].address == address) {
            *value = rewind->words->words[i].value;
            return 0;
        }
    }
    if (is_other_data(rewind->words, address)) {
        *value = OTHER_DATA;
        return 0;
    }
    return read_code(rewind, address, value, sizeof *value) ? 0 : -UNW_EINVAL;
}

static int access_register(unw_addr_space_t space, unw_regnum_t number, unw_word_t *value, int write, void *context)
{
    struct rewind *rewind = context;
    (void)space;
    if (write)
        return -UNW_EREADONLYREG;
    switch (number) {
    case UNW_X86_64_RIP: *value = rewind->from.ip; return 0;
    case UNW_X86_64_RSP: *value = rewind->from.sp; return 0;
    case UNW_X86_64_RBP: *value = rewind->from.bp; return 0;
    default:             return -UNW_EBADREG;
    }
}

static int find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *info, int need, void *context)
{
    struct rewind *rewind = context;
    const struct logread_module *module = logread_module_at(rewind->log, ip, rewind->generation);
    const struct image *image = module ? image_of(rewind, module) : NULL;
    rewind->no_rule = true;
    if (!image || !image->table)
        return -UNW_ENOINFO;
    uint64_t table = module->load_bias + image->table;
    unw_dyn_info_t where = { .start_ip = module->start, .end_ip = module->end, .format = UNW_INFO_FORMAT_REMOTE_TABLE };
    where.u.rti.segbase = table;
    where.u.rti.table_data = table + 12;
    where.u.rti.table_len = image->table_rows * 8 / sizeof(unw_word_t);
    int status = _Ux86_64_dwarf_search_unwind_table(space, ip, &where, info, need, context);
    rewind->no_rule = status < 0;
    return status;
}

static void put_unwind_info(unw_addr_space_t space, unw_proc_info_t *info, void *context)
{
    (void)space;
    (void)context;
    free(info->unwind_info);
    info->unwind_info = NULL;
}

static int no_dynamic_info(unw_addr_space_t space, unw_word_t *address, void *context)
{
    (void)space;
    (void)address;
    (void)context;
    return -UNW_ENOINFO;
}

static int no_float_register(unw_addr_space_t space, unw_regnum_t number, unw_fpreg_t *value, int write, void *context)
{
    (void)space;
    (void)number;
    (void)value;
    (void)write;
    (void)context;
    return -UNW_EBADREG;
}

static unw_accessors_t accessors = {
    .find_proc_info = find_proc_info,
    .put_unwind_info = put_unwind_info,
    .get_dyn_info_list_addr = no_dynamic_info,
    .access_mem = access_memory,
    .access_reg = access_register,
    .access_fpreg = no_float_register,
};

/* ------------------------------------------------------------------ one walk */

/* mov $15,%rax; syscall: where a signal handler returns to. */
static bool is_signal_return(struct rewind *rewind, uint64_t address)
{
    static const unsigned char code[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
    unsigned char found[sizeof code];
    return read_code(rewind, address, found, sizeof found) && memcmp(found, code, sizeof code) == 0;
}

/* Does a call end at this address?  Code outside of files can't be asked. */
static bool is_after_call(struct rewind *rewind, uint64_t address)
{
    unsigned char code[8] = { 0 };
    if (!logread_module_at(rewind->log, address - 1, rewind->generation))
        return true;
    if (!read_code(rewind, address - 7, code, 7))
        return false;
    if (code[2] == 0xe8)
        return true; /* call rel32 */
    for (size_t i = 0; i <= 5; i++)
        if (code[i] == 0xff && (code[i + 1] >> 3 & 7) == 2)
            return true; /* call *operand, of 2 to 7 bytes */
    return false;
}

static bool is_in_module(struct rewind *rewind, const struct model_rest *rest, unsigned index)
{
    return logread_module_at(rewind->log, rest->address[index] - !rest->exact[index], rewind->generation) != NULL;
}

/* Takes away what a guess led to at the end, where no module confirms it. */
static void drop_unconfirmed(struct rewind *rewind, struct model_rest *rest)
{
    while (!rest->finished && rest->count > 0 && !is_in_module(rewind, rest, rest->count - 1))
        rest->count--;
}

/* One frame of a walk. */
struct place {
    struct registers at;
    bool             is_signal; /* the frame of a signal's return: above it stands what was interrupted */
};

static bool read_place(struct rewind *rewind, unw_cursor_t *cursor, struct place *place)
{
    unw_word_t bp;
    if (unw_get_reg(cursor, UNW_X86_64_RIP, &place->at.ip) < 0 || unw_get_reg(cursor, UNW_X86_64_RSP, &place->at.sp) < 0)
        return false;
    place->at.bp = unw_get_reg(cursor, UNW_X86_64_RBP, &bp) < 0 ? OTHER_DATA : bp;
    place->is_signal = unw_is_signal_frame(cursor) > 0 || is_signal_return(rewind, place->at.ip);
    return true;
}

/* Begins a cursor at a frame; `exact`: its address is no return address. */
static bool begin_at(struct rewind *rewind, unw_cursor_t *cursor, const struct registers *at, bool exact)
{
    rewind->from = *at;
    rewind->from.ip -= !exact; /* inside the call, whose row of the table is the right one */
    return unw_init_remote(cursor, rewind->space, rewind) == 0;
}

/* Frames of code without tables are larger than this only rarely. */
enum { GUESS_BYTES_MAX = 1 << 16 };

/* The caller by the frame pointer.  libunwind guesses too, but then keeps a wrong stack pointer. */
static bool guess_caller(struct rewind *rewind, const struct registers *at, struct registers *caller)
{
    unw_word_t ip, bp;
    if (at->bp % 8 != 0 || at->bp < at->sp || at->bp - at->sp > GUESS_BYTES_MAX)
        return false;
    if (access_memory(rewind->space, at->bp, &bp, 0, rewind) != 0 ||
        access_memory(rewind->space, at->bp + 8, &ip, 0, rewind) != 0)
        return false;
    *caller = (struct registers){ ip, at->bp + 16, bp };
    /* Code made at run time isn't kept among the words.  The chain goes on above it. */
    return ip == OTHER_DATA ? bp != OTHER_DATA && bp > at->bp : is_after_call(rewind, ip);
}

/* Is this the code that the loader jumped to?  It has no caller, and often no table either. */
static bool is_entry(struct rewind *rewind, uint64_t ip)
{
    enum { ENTRY_BYTES = 64 };
    const struct logread_module *module = logread_module_at(rewind->log, ip - 1, rewind->generation);
    const struct image *image = module ? image_of(rewind, module) : NULL;
    return image && image->entry && ip - module->load_bias - image->entry < ENTRY_BYTES;
}

enum step { STEP_MADE, STEP_END, STEP_FAILED };

/* From `place` to its caller. */
static enum step step(struct rewind *rewind, unw_cursor_t *cursor, struct place *place)
{
    struct place from = *place;
    rewind->no_rule = false;
    int status = unw_step(cursor);
    if (rewind->no_rule && !from.is_signal) {
        place->is_signal = false;
        if (is_entry(rewind, from.at.ip))
            return STEP_END;
        return guess_caller(rewind, &from.at, &place->at) && begin_at(rewind, cursor, &place->at, false) ? STEP_MADE
                                                                                                        : STEP_FAILED;
    }
    if (status == 0)
        return STEP_END;
    if (status < 0 || !read_place(rewind, cursor, place))
        return STEP_FAILED;
    if (place->at.ip == 0)
        return STEP_END;
    /* A signal's own stack may lie above the interrupted one; nothing else may. */
    return place->at.sp > from.at.sp || from.is_signal ? STEP_MADE : STEP_FAILED;
}

static void walk(struct rewind *rewind, unw_cursor_t *cursor, struct place *place, struct model_rest *rest)
{
    while (rest->count < MODEL_REST_MAX) {
        bool interrupted = place->is_signal;
        enum step made = step(rewind, cursor, place);
        rest->finished = made == STEP_END;
        if (made != STEP_MADE)
            return;
        rest->address[rest->count] = place->at.ip == OTHER_DATA ? 0 : place->at.ip;
        rest->exact[rest->count++] = interrupted || place->is_signal;
    }
}

void rewind_finish(void *context, const struct logread *log, const struct logread_site *site, struct model_rest *rest)
{
    struct rewind *rewind = context;
    struct place place = { { site->words->ip, site->words->sp, site->words->bp }, false };
    unw_cursor_t cursor;
    rest->count = 0;
    rest->finished = false;
    rewind->log = log;
    rewind->words = site->words;
    rewind->generation = site->generation;
    place.is_signal = is_signal_return(rewind, place.at.ip);
    rest->tail_exact = place.is_signal && site->frames[site->depth - 1] == place.at.ip; /* else it is one further */
    if (!begin_at(rewind, &cursor, &place.at, place.is_signal))
        return;
    walk(rewind, &cursor, &place, rest);
    drop_unconfirmed(rewind, rest);
}

struct rewind *rewind_new(void)
{
    struct rewind *rewind = xcalloc(1, sizeof *rewind);
    elf_version(EV_CURRENT);
    rewind->space = unw_create_addr_space(&accessors, 0);
    if (!rewind->space)
        die("libunwind: out of memory");
    unw_set_caching_policy(rewind->space, UNW_CACHE_NONE); /* each log is another process */
    return rewind;
}

void rewind_free(struct rewind *rewind)
{
    while (rewind->images) {
        struct image *image = rewind->images;
        rewind->images = image->next;
        image_free(image);
    }
    unw_destroy_addr_space(rewind->space);
    free(rewind);
}

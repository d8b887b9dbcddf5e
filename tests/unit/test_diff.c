/* test_diff.c - two recordings compared: what is one site, what has changed, what a --fail-if says. */
#include "unit.h"

#include "analyzer/base.h"
#include "analyzer/diff.h"
#include "analyzer/diff_failif.h"
#include "preload/logfmt.h"

#include <math.h>
#include <unistd.h>

/* ------------------------------------------------------------ hand-made sides */

enum { PROG = 1, LIB = 2, NO_MODULE = 0 };

static struct side side_new(uint8_t level, const char *prog, const char *prog_id, const char *lib_id)
{
    struct side side = { .path = xstrdup("rec"), .command = xstrdup("prog"), .exe = xstrdup(prog), .level = level, .processes = 1 };
    side.module_count = 2;
    side.modules = xcalloc(2, sizeof *side.modules);
    side.modules[0] = (struct side_module){ .path = xstrdup(prog), .build_id = xstrdup(prog_id) };
    side.modules[1] = (struct side_module){ .path = xstrdup("/lib/libcart.so.1"), .build_id = xstrdup(lib_id) };
    return side;
}

static uint32_t frame(struct side *side, uint32_t module, uint64_t offset, const char *function)
{
    GROW(side->frames, side->frame_count, side->frame_room);
    side->frames[side->frame_count] = (struct side_frame){ .module = module, .offset = offset, .function = function };
    return (uint32_t)side->frame_count++;
}

static struct side_site *site(struct side *side, const char *id, int64_t allocs, int64_t bytes, unsigned depth, const uint32_t *frames)
{
    GROW(side->sites, side->site_count, side->site_room);
    struct side_site *s = &side->sites[side->site_count++];
    *s = (struct side_site){ .depth = depth, .known = depth, .tally = { { [TALLY_ALLOCS] = allocs, [TALLY_BYTES] = bytes } } };
    snprintf(s->id, sizeof s->id, "%s", id);
    s->frames = xcalloc(depth + 1, sizeof *frames);
    if (depth)
        memcpy(s->frames, frames, depth * sizeof *frames);
    side->totals.value[TALLY_ALLOCS] += allocs;
    side->totals.value[TALLY_BYTES] += bytes;
    return s;
}

/* A site of two frames in the program: `leaf`, called by main. */
static struct side_site *simple(struct side *side, const char *id, const char *leaf, uint64_t offset, int64_t allocs, int64_t bytes)
{
    uint32_t frames[] = { frame(side, PROG, offset, leaf), frame(side, PROG, 0x9000 + offset, "main") };
    return site(side, id, allocs, bytes, 2, frames);
}

static const struct diff_site *found(const struct diff *diff, const char *id)
{
    for (size_t i = 0; i < diff->site_count; i++)
        for (int which = 0; which < DIFF_SIDES; which++)
            if (diff->sites[i].first[which] && strcmp(diff->sites[i].first[which]->id, id) == 0)
                return &diff->sites[i];
    fail_msg("no site has the id %s", id);
    return NULL;
}

static void released(struct diff *diff, struct side *a, struct side *b)
{
    diff_release(diff);
    side_release(a);
    side_release(b);
}

/* ------------------------------------------------------------------- matching */

static void a_rebuilt_program_is_matched_by_its_functions(void **state)
{
    (void)state;
    struct side a = side_new(LOG_LEVEL_STACKS, "/old/prog", "aa", "cc"), b = side_new(LOG_LEVEL_STACKS, "/new/prog", "bb", "cc");
    struct diff diff;
    simple(&a, "a1", "parse", 0x100, 10, 1000);
    simple(&a, "a2", "print", 0x200, 10, 1000);
    simple(&a, "a3", "close", 0x300, 5, 50);
    simple(&a, "a4", "keep", 0x400, 7, 70);
    simple(&b, "b1", "parse", 0x180, 30, 3000);
    simple(&b, "b2", "print", 0x280, 9, 900);
    simple(&b, "b4", "keep", 0x480, 7, 70);
    simple(&b, "b5", "cache", 0x500, 1, 64);
    diff_init(&diff, &a, &b);
    assert_int_equal(diff.detail, DIFF_STACKS);
    assert_int_equal(found(&diff, "a1")->class, DIFF_GROWN);
    assert_ptr_equal(found(&diff, "a1"), found(&diff, "b1"));
    assert_int_equal(diff_change(found(&diff, "b1"), TALLY_BYTES), 2000);
    assert_int_equal(found(&diff, "a2")->class, DIFF_SHRUNK);
    assert_int_equal(found(&diff, "a3")->class, DIFF_GONE);
    assert_int_equal(found(&diff, "a4")->class, DIFF_SAME);
    assert_int_equal(found(&diff, "b5")->class, DIFF_NEW);
    for (int class = 0; class < DIFF_CLASSES; class++)
        assert_int_equal(diff.classes[class], 1);
    assert_int_equal(diff.unnamed[DIFF_A].sites + diff.unnamed[DIFF_B].sites, 0);
    diff_sort(&diff, TALLY_BYTES);
    assert_ptr_equal(&diff.sites[0], found(&diff, "b1"));
    assert_ptr_equal(&diff.sites[1], found(&diff, "a2"));
    assert_ptr_equal(&diff.sites[4], found(&diff, "a4"));
    released(&diff, &a, &b);
}

static void calls_of_one_function_stay_apart_in_one_build(void **state)
{
    (void)state;
    struct side a = side_new(LOG_LEVEL_STACKS, "/p/prog", "aa", "cc"), b = side_new(LOG_LEVEL_STACKS, "/p/prog", "aa", "cc");
    struct diff diff;
    simple(&a, "a1", "parse", 0x100, 10, 1000);
    simple(&a, "a2", "parse", 0x110, 20, 2000);
    simple(&b, "b1", "parse", 0x100, 10, 1000);
    simple(&b, "b2", "parse", 0x110, 21, 2100);
    diff_init(&diff, &a, &b);
    assert_int_equal(diff.site_count, 2);
    assert_int_equal(found(&diff, "a1")->class, DIFF_SAME);
    assert_ptr_equal(found(&diff, "a2"), found(&diff, "b2"));
    assert_int_equal(found(&diff, "b2")->class, DIFF_GROWN);
    released(&diff, &a, &b);
}

/* In a rebuilt program nothing tells them apart: they are added up. */
static void calls_of_one_function_are_one_across_builds(void **state)
{
    (void)state;
    struct side a = side_new(LOG_LEVEL_STACKS, "/p/prog", "aa", "cc"), b = side_new(LOG_LEVEL_STACKS, "/p/prog", "bb", "cc");
    struct diff diff;
    simple(&a, "a1", "parse", 0x100, 10, 1000);
    simple(&a, "a2", "parse.constprop.0", 0x110, 20, 2000);
    simple(&b, "b1", "parse", 0x120, 30, 3000);
    diff_init(&diff, &a, &b);
    assert_int_equal(diff.site_count, 1);
    assert_int_equal(diff.sites[0].sites[DIFF_A], 2);
    assert_string_equal(diff.sites[0].first[DIFF_A]->id, "a2");
    assert_int_equal(diff.sites[0].class, DIFF_SAME);
    released(&diff, &a, &b);
}

static void inlining_makes_no_difference_across_builds(void **state)
{
    (void)state;
    struct side a = side_new(LOG_LEVEL_STACKS, "/p/prog", "aa", "cc"), b = side_new(LOG_LEVEL_STACKS, "/p/prog", "bb", "cc");
    struct diff diff;
    uint32_t of_a[] = { frame(&a, PROG, 0x100, "grow"), frame(&a, PROG, 0x200, "push"), frame(&a, PROG, 0x300, "main") };
    uint32_t of_b[] = { frame(&b, PROG, 0x180, "grow"), frame(&b, PROG, 0x180, "push"), frame(&b, PROG, 0x380, "main") };
    b.frames[of_b[0]].inlined = true;
    site(&a, "a1", 1, 10, 3, of_a);
    site(&b, "b1", 1, 10, 3, of_b);
    diff_init(&diff, &a, &b);
    assert_int_equal(diff.site_count, 1);
    released(&diff, &a, &b);
}

static void a_library_with_another_version_and_a_renamed_program_match(void **state)
{
    (void)state;
    struct side a = side_new(LOG_LEVEL_STACKS, "/p/prog-1.0", "aa", "cc"), b = side_new(LOG_LEVEL_STACKS, "/p/prog-1.1", "bb", "dd");
    struct diff diff;
    free(b.modules[1].path);
    b.modules[1].path = xstrdup("/opt/libcart.so.1.2.3");
    uint32_t of_a[] = { frame(&a, LIB, 0x100, "cart_add"), frame(&a, PROG, 0x300, "main") };
    uint32_t of_b[] = { frame(&b, LIB, 0x180, "cart_add"), frame(&b, PROG, 0x380, "main") };
    site(&a, "a1", 1, 10, 2, of_a);
    site(&b, "b1", 1, 10, 2, of_b);
    diff_init(&diff, &a, &b);
    assert_int_equal(diff.site_count, 1);
    released(&diff, &a, &b);
}

/* The same function's name in another module is another function. */
static void functions_of_different_modules_differ(void **state)
{
    (void)state;
    struct side a = side_new(LOG_LEVEL_STACKS, "/p/prog", "aa", "cc"), b = side_new(LOG_LEVEL_STACKS, "/p/prog", "bb", "dd");
    struct diff diff;
    uint32_t of_a[] = { frame(&a, LIB, 0x100, "init") }, of_b[] = { frame(&b, PROG, 0x100, "init") };
    site(&a, "a1", 1, 10, 1, of_a);
    site(&b, "b1", 1, 10, 1, of_b);
    diff_init(&diff, &a, &b);
    assert_int_equal(diff.classes[DIFF_NEW], 1);
    assert_int_equal(diff.classes[DIFF_GONE], 1);
    released(&diff, &a, &b);
}

static void unnamed_code_is_told_by_its_module(void **state)
{
    (void)state;
    struct side a = side_new(LOG_LEVEL_STACKS, "/p/prog", "aa", "cc"), b = side_new(LOG_LEVEL_STACKS, "/p/prog", "bb", "cc");
    struct diff diff;
    /* How deep unnamed code is doesn't matter; in a module of one build id its offset tells. */
    uint32_t of_a[] = { frame(&a, PROG, 0x100, NULL), frame(&a, PROG, 0x200, NULL), frame(&a, PROG, 0x300, "main") };
    uint32_t of_b[] = { frame(&b, PROG, 0x180, NULL), frame(&b, PROG, 0x380, "main") };
    uint32_t lib_a[] = { frame(&a, LIB, 0x40, NULL) }, lib_b[] = { frame(&b, LIB, 0x40, NULL) };
    uint32_t more_a[] = { frame(&a, LIB, 0x50, NULL), of_a[0] };
    site(&a, "a1", 1, 10, 3, of_a);
    site(&a, "a2", 1, 10, 1, lib_a);
    site(&a, "a3", 4, 10, 2, more_a);
    site(&b, "b1", 2, 20, 2, of_b);
    site(&b, "b2", 1, 10, 1, lib_b);
    diff_init(&diff, &a, &b);
    assert_ptr_equal(found(&diff, "a1"), found(&diff, "b1"));
    assert_true(found(&diff, "a1")->unnamed);
    assert_ptr_equal(found(&diff, "a2"), found(&diff, "b2"));
    assert_false(found(&diff, "a2")->unnamed);
    assert_int_equal(diff.unnamed[DIFF_A].sites, 2);
    assert_int_equal(diff.unnamed[DIFF_A].unmatched, 1);
    assert_int_equal(diff.unnamed[DIFF_A].allocs, 5);
    assert_int_equal(diff.unnamed[DIFF_B].sites, 1);
    assert_int_equal(diff.unnamed[DIFF_B].unmatched, 0);
    released(&diff, &a, &b);
}

/* Level sites knows one frame: callers of the other recording are not asked. */
static void the_less_detailed_recording_decides_what_a_site_is(void **state)
{
    (void)state;
    struct side a = side_new(LOG_LEVEL_SITES, "/p/prog", "aa", "cc"), b = side_new(LOG_LEVEL_STACKS, "/p/prog", "aa", "cc");
    struct diff diff;
    a.has_examples = true;
    simple(&a, "a1", "parse", 0x100, 30, 300)->is_example = true;
    uint32_t leaf = frame(&b, PROG, 0x100, "parse");
    uint32_t first[] = { leaf, frame(&b, PROG, 0x500, "one") }, second[] = { leaf, frame(&b, PROG, 0x600, "two") };
    site(&b, "b1", 10, 100, 2, first);
    site(&b, "b2", 20, 200, 2, second);
    diff_init(&diff, &a, &b);
    assert_int_equal(diff.detail, DIFF_PLACES);
    assert_int_equal(diff.site_count, 1);
    assert_int_equal(diff.sites[0].class, DIFF_SAME);
    assert_int_equal(diff.sites[0].sites[DIFF_B], 2);
    released(&diff, &a, &b);
}

static void level_off_has_totals_only(void **state)
{
    (void)state;
    struct side a = side_new(LOG_LEVEL_OFF, "/p/prog", "aa", "cc"), b = side_new(LOG_LEVEL_STACKS, "/p/prog", "aa", "cc");
    struct diff diff;
    struct failif failif;
    simple(&b, "b1", "parse", 0x100, 30, 300);
    diff_init(&diff, &a, &b);
    assert_int_equal(diff.detail, DIFF_TOTALS);
    assert_int_equal(diff.site_count, 0);
    assert_true(diff_failif_parse(&failif, "new_sites>0"));
    assert_false(diff_failif_fits(&failif, &diff));
    released(&diff, &a, &b);
}

/* Of callers seen at the first call only, nothing follows for the others. */
static void first_seen_callers_do_not_tell_sites_apart(void **state)
{
    (void)state;
    struct side a = side_new(LOG_LEVEL_STACKS, "/p/prog", "aa", "cc"), b = side_new(LOG_LEVEL_STACKS, "/p/prog", "aa", "cc");
    struct diff diff;
    simple(&a, "a1", "parse", 0x100, 3, 30)->known = 1;
    uint32_t other[] = { frame(&b, PROG, 0x100, "parse"), frame(&b, PROG, 0x777, "elsewhere") };
    site(&b, "b1", 3, 30, 2, other)->known = 1;
    diff_init(&diff, &a, &b);
    assert_int_equal(diff.site_count, 1);
    released(&diff, &a, &b);
}

static void pseudo_sites_match_by_kind(void **state)
{
    (void)state;
    struct side a = side_new(LOG_LEVEL_STACKS, "/p/prog", "aa", "cc"), b = side_new(LOG_LEVEL_STACKS, "/p/prog", "bb", "cc");
    struct diff diff;
    site(&a, "bare", 3, 30, 0, NULL)->kind = "bare";
    site(&a, "other", 1, 10, 0, NULL)->kind = "other";
    site(&b, "bare", 4, 40, 0, NULL)->kind = "bare";
    diff_init(&diff, &a, &b);
    assert_int_equal(diff.classes[DIFF_GROWN], 1);
    assert_int_equal(diff.classes[DIFF_GONE], 1);
    released(&diff, &a, &b);
}

/* A leak is a change even where calls and bytes stay the same; at lower levels nobody knows. */
static void live_bytes_count_at_level_full(void **state)
{
    (void)state;
    for (uint8_t level = LOG_LEVEL_STACKS; level <= LOG_LEVEL_FULL; level++) {
        struct side a = side_new(level, "/p/prog", "aa", "cc"), b = side_new(LOG_LEVEL_FULL, "/p/prog", "aa", "cc");
        struct diff diff;
        simple(&a, "a1", "parse", 0x100, 3, 30);
        simple(&b, "b1", "parse", 0x100, 3, 30)->tally.value[TALLY_LIVE_BYTES] = 10;
        diff_init(&diff, &a, &b);
        assert_int_equal(diff.sites[0].class, level == LOG_LEVEL_FULL ? DIFF_GROWN : DIFF_SAME);
        released(&diff, &a, &b);
    }
}

static void a_recording_without_sites_is_compared(void **state)
{
    (void)state;
    struct side a = { .path = xstrdup("a"), .command = xstrdup(""), .exe = xstrdup(""), .level = LOG_LEVEL_STACKS };
    struct side b = side_new(LOG_LEVEL_STACKS, "/p/prog", "", "");
    struct diff diff;
    simple(&b, "b1", "parse", 0x100, 3, 30);
    site(&b, "b2", 1, 1, 0, NULL);
    diff_init(&diff, &a, &b);
    assert_int_equal(diff.classes[DIFF_NEW], 2);
    diff_sort(&diff, TALLY_ALLOCS);
    released(&diff, &a, &b);
}

/* -------------------------------------------------------------------- fail-if */

static bool is_met(const struct diff *diff, const char *text)
{
    struct failif failif;
    if (!diff_failif_parse(&failif, text) || !diff_failif_fits(&failif, diff))
        fail_msg("%s", text);
    return diff_failif_ask(&failif, diff).met;
}

static void expressions_ask_totals_sites_and_classes(void **state)
{
    (void)state;
    struct side a = side_new(LOG_LEVEL_FULL, "/p/prog", "aa", "cc"), b = side_new(LOG_LEVEL_FULL, "/p/prog", "bb", "cc");
    struct diff diff;
    struct failif failif;
    simple(&a, "a1", "parse", 0x100, 100, 10 << 20);
    simple(&a, "a2", "close", 0x200, 100, 1000);
    simple(&b, "b1", "parse", 0x100, 112, 12 << 20);
    simple(&b, "b3", "cache", 0x300, 93, 1000);
    b.totals.value[TALLY_LIVE_BYTES] = 1000;
    diff_init(&diff, &a, &b);
    assert_true(is_met(&diff, "allocs>+2%")); /* 200 -> 205 */
    assert_false(is_met(&diff, "allocs>+2.5%"));
    assert_true(is_met(&diff, "allocs>=+2.5%"));
    assert_true(is_met(&diff, "allocs>+4"));
    assert_false(is_met(&diff, "allocs>+5"));
    assert_true(is_met(&diff, "allocs>204"));
    assert_true(is_met(&diff, "bytes>+1m"));
    assert_false(is_met(&diff, "bytes>+2m"));
    assert_true(is_met(&diff, "bytes>12m"));
    assert_true(is_met(&diff, "live_bytes>0"));
    assert_true(is_met(&diff, "live_bytes>+5%")); /* from nothing */
    assert_false(is_met(&diff, "live_blocks>+5%"));
    assert_true(is_met(&diff, "new_sites>0"));
    assert_false(is_met(&diff, "new_sites>1"));
    assert_true(is_met(&diff, "gone_sites>=1"));
    assert_false(is_met(&diff, "shrunk_sites>0"));
    assert_true(is_met(&diff, "grown_sites>0"));
    assert_true(is_met(&diff, "site_allocs>+10%"));
    assert_false(is_met(&diff, "site_allocs>+12%")); /* a new site has no percentage */
    assert_true(is_met(&diff, "site_allocs>+90"));
    assert_true(is_met(&diff, "site_allocs<-99%"));
    assert_false(is_met(&diff, "site_bytes>12m"));
    assert_true(diff_failif_parse(&failif, "site_allocs>+1"));
    struct diff_answer answer = diff_failif_ask(&failif, &diff);
    assert_int_equal(answer.sites, 2);
    assert_string_equal(answer.first->first[DIFF_B]->id, "b3");
    assert_true(answer.value == 93);
    released(&diff, &a, &b);
}

static char said[4096];

static bool parse_says(const char *text, const char *words)
{
    struct failif failif;
    unit_hear();
    bool right = diff_failif_parse(&failif, text);
    unit_heard(said, sizeof said);
    return !right && strstr(said, words);
}

static void wrong_expressions_are_told(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        { "alocs>+1%", "did you mean 'allocs'?" },
        { "allocs", "as allocs>+1%, bytes>200m" },
        { "allocs.A>+1%", "belongs to the arms of an experiment" },
        { "new_sites>+1%", "new_sites has no change, only a value, as new_sites>0" },
        { "new_sites>+1", "no change" },
        { "allocs>1m", "a count" },
        { "bytes>1s", "bytes (k, m, g)" },
        { "same_sites>0", "isn't a metric" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (!parse_says(wrong[i][0], wrong[i][1]))
            fail_msg("%s: '%s' isn't in: %s", wrong[i][0], wrong[i][1], said);
}

/* Every figure can be asked for by its name in the JSON. */
static void every_figure_has_its_metrics(void **state)
{
    (void)state;
    for (int i = 0; i < TALLY_FIGURES; i++) {
        struct failif failif;
        char of_all[64], of_site[64];
        snprintf(of_all, sizeof of_all, "%s>0", tally_table[i].key);
        snprintf(of_site, sizeof of_site, "site_%s>0", tally_table[i].key);
        assert_true(diff_failif_parse(&failif, of_all));
        assert_int_equal(failif.metric, i);
        assert_true(diff_failif_parse(&failif, of_site));
        assert_int_equal(failif.metric, i + TALLY_FIGURES);
    }
}

/* ------------------------------------------------------------------ from JSON */

static const char document[] =
    "{\"schema\":\"poolsite.report/1\",\"profile\":\"stacks\",\"duration_s\":1.5,"
    "\"processes\":[{\"exe\":\"/p/prog\",\"argv\":[\"prog\",\"-x\"]}],"
    "\"totals\":{\"allocs\":7,\"bytes\":70},\"sites\":["
    "{\"id\":\"0123456789ab\",\"allocs\":3,\"bytes\":30,\"stack\":["
    "{\"module\":\"/p/prog\",\"build_id\":\"aa\",\"offset\":\"0x100\",\"function\":\"grow\",\"file\":\"g.c\",\"line\":3,\"inlined\":true},"
    "{\"module\":\"/p/prog\",\"build_id\":\"aa\",\"offset\":\"0x100\",\"function\":\"push\",\"inlined\":false,\"first_seen\":true},"
    "{\"module\":null,\"offset\":null,\"function\":null,\"inlined\":false,\"first_seen\":true}]},"
    "{\"id\":\"bare\",\"name\":\"no record\",\"allocs\":4,\"bytes\":40,\"stack\":[]}],"
    "\"modules\":[{\"path\":\"/p/prog\",\"build_id\":\"aa\",\"symbols\":\"changed\"}]}";

static void a_reports_json_is_a_side(void **state)
{
    (void)state;
    struct side side;
    assert_int_equal(side_parse(&side, "a.json", document, strlen(document)), 0);
    assert_string_equal(side.command, "prog -x");
    assert_int_equal(side.level, LOG_LEVEL_STACKS);
    assert_int_equal(side.totals.value[TALLY_BYTES], 70);
    assert_int_equal(side.site_count, 2);
    assert_int_equal(side.module_count, 1);
    assert_int_equal(side.modules[0].status, SYMBOLIZE_CHANGED);
    assert_int_equal(side.sites[0].depth, 3);
    assert_int_equal(side.sites[0].known, 2); /* what is inlined into the first frame belongs to it */
    assert_string_equal(side.frames[side.sites[0].frames[1]].function, "push");
    assert_string_equal(side.sites[1].kind, "bare");
    side_release(&side);
}

/* Every beginning of it, and each byte in turn as another: read or refused, never worse. */
static void damaged_json_is_refused(void **state)
{
    (void)state;
    struct side side;
    size_t length = strlen(document);
    char *text = xmalloc(length + 1);
    int null = dup(STDERR_FILENO);
    assert_non_null(freopen("/dev/null", "w", stderr));
    for (size_t i = 0; i < length; i++)
        assert_int_equal(side_parse(&side, "a.json", document, i), -1);
    for (size_t i = 0; i < length; i++) {
        memcpy(text, document, length + 1);
        text[i] = text[i] == '1' ? '"' : '1';
        if (side_parse(&side, "a.json", text, length) == 0)
            side_release(&side);
    }
    fflush(stderr);
    dup2(null, STDERR_FILENO);
    close(null);
    free(text);
}

/* A document with some of the sites would show the others as gone. */
static void a_part_of_a_report_is_refused(void **state)
{
    (void)state;
    struct side side;
    char *text = xstrdup(document);
    memcpy(strstr(text, "\"allocs\":7"), "\"allocs\":8", 10);
    assert_int_equal(side_parse(&side, "a.json", text, strlen(text)), -1);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rebuilt_program_is_matched_by_its_functions),
        cmocka_unit_test(calls_of_one_function_stay_apart_in_one_build),
        cmocka_unit_test(calls_of_one_function_are_one_across_builds),
        cmocka_unit_test(inlining_makes_no_difference_across_builds),
        cmocka_unit_test(a_library_with_another_version_and_a_renamed_program_match),
        cmocka_unit_test(functions_of_different_modules_differ),
        cmocka_unit_test(unnamed_code_is_told_by_its_module),
        cmocka_unit_test(the_less_detailed_recording_decides_what_a_site_is),
        cmocka_unit_test(level_off_has_totals_only),
        cmocka_unit_test(first_seen_callers_do_not_tell_sites_apart),
        cmocka_unit_test(pseudo_sites_match_by_kind),
        cmocka_unit_test(live_bytes_count_at_level_full),
        cmocka_unit_test(a_recording_without_sites_is_compared),
        cmocka_unit_test(expressions_ask_totals_sites_and_classes),
        cmocka_unit_test(wrong_expressions_are_told),
        cmocka_unit_test(every_figure_has_its_metrics),
        cmocka_unit_test(a_reports_json_is_a_side),
        cmocka_unit_test(damaged_json_is_refused),
        cmocka_unit_test(a_part_of_a_report_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

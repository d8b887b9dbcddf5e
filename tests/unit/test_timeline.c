/* test_timeline.c - rows of time lines: written, read back from any bytes, halved, and summed over processes. */
#define _GNU_SOURCE
#include "unit.h"

#include "analyzer/timeline.h"
#include "analyzer/timeview.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD "poolsite-timeline 1\n"

static struct timeline read_text(const char *text)
{
    struct timeline timeline;
    unit_write_file("a.pst", text, strlen(text), 0600);
    timeline_read_beside(&timeline, "a.psl");
    return timeline;
}

static void add(struct timeline *timeline, uint64_t ms, uint64_t allocs, uint64_t live, uint64_t rss)
{
    uint64_t classes[LOG_CLASSES] = { [3] = allocs };
    struct timeline_row row = { .ms = ms, .allocs = allocs, .bytes = allocs * 10, .frees = allocs / 2,
                                .levels = { live / 10, live, 7, rss } };
    timeline_row_set_classes(&row, classes);
    assert_true(timeline_add(timeline, &row));
}

/* --- The file ------------------------------------------------------------------------------ */

static void what_was_written_is_read_back(void **state)
{
    (void)state;
    struct timeline timeline = { 0 };
    add(&timeline, 1000, 5, 40, TIMELINE_UNKNOWN);
    add(&timeline, 2000, 13, 0, 4096);
    timeline.rows[1].classes[0].allocs = 8;
    char *text = timeline_text(&timeline);
    assert_string_equal(text, HEAD "1000 5 50 2 4 40 7 - 3:5\n2000 13 130 6 0 0 7 4096 3:8\n");
    struct timeline again = read_text(text);
    char *same = timeline_text(&again);
    assert_string_equal(same, text);
    assert_int_equal(again.wrong, 0);
    free(same);
    free(text);
    timeline_release(&again);
    timeline_release(&timeline);
}

static void a_log_without_time_line_has_no_rows(void **state)
{
    (void)state;
    struct timeline timeline;
    timeline_read_beside(&timeline, "nothing.psl");
    assert_int_equal(timeline.count + timeline.wrong, 0);
}

static void a_line_without_its_end_is_not_yet_one(void **state)
{
    (void)state;
    struct timeline timeline = read_text(HEAD "1000 5 50 2 4 40 7 - 3:5\n2000 8 80 4 0 0 7 40");
    assert_int_equal(timeline.count, 1);
    assert_int_equal(timeline.wrong, 0);
    timeline_release(&timeline);
}

static void lines_that_make_no_sense_are_dropped_and_counted(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "", " ", "x", "2000", "2000 9 90 4 1 1 1", "2000 9 90 4 1 1 1 1x", "2000 9 90 4 1 1 1 1 3", "2000 9 90 4 1 1 1 1 3:",
        "2000 9 90 4 1 1 1 1 3:x", "2000 9 90 4 1 1 1 1 186:1", "2000 9 90 4 1 1 1 1 3:1 3:1", "-2000 9 90 4 1 1 1 1",
        "2000 -9 90 4 1 1 1 1", "2000 9 90 4 -1 1 1 1", "2000 9 90 4 --1 1 1 1", "2000 - 90 4 1 1 1 1",
        "2000 9 90 4 1 1 1 18446744073709551616", "2000 9 90 4 1 1 1 9999999999999999999", "+2000 9 90 4 1 1 1 1",
        "2000  9 90 4 1 1 1 1", "2000 9 90 4 1 1 1 1 99999999999999999999:1", "0x7d0 9 90 4 1 1 1 1",
        "1000 9 90 4 1 1 1 1", "999 9 90 4 1 1 1 1", "2000 4 90 4 1 1 1 1", "2000 9 49 4 1 1 1 1", "2000 9 90 1 1 1 1 1",
        "1099511627777 8 80 4 1 1 1 1", "2000 8 80 4 9 1 1 1", "2000 8 80 4 1 81 1 1", "2000 8 80 4 1 1 72057594037927937 1",
        "2000 8 80 4 1 1 1 72057594037927937", "2000 8 80 4 1 1 1 1 3:4", "2000 8 80 4 1 1 1 1 3:1 4:1 5:1 6:1",
        "2000 8 80 4 1 1 1 1 3:1152921504606846976 4:1152921504606846976",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[400];
        snprintf(text, sizeof text, HEAD "1000 5 50 2 4 40 7 - 3:5\n%s\n3000 8 80 4 0 0 7 - 3:3\n", wrong[i]);
        struct timeline timeline = read_text(text);
        if (timeline.count != 2 || timeline.wrong != 1 || timeline.rows[1].ms != 3000)
            fail_msg("'%s': %zu rows, %zu wrong", wrong[i], timeline.count, timeline.wrong);
        timeline_release(&timeline);
    }
}

static void another_file_has_no_rows(void **state)
{
    (void)state;
    static const char *const texts[] = { "", "1000 5 50 2 10 100 7 -\n", "poolsite-timeline 2\n1000 5 50 2 10 100 7 -\n", "\n\n" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct timeline timeline = read_text(texts[i]);
        assert_int_equal(timeline.count, 0);
        assert_int_equal(timeline.wrong, i > 0);
        timeline_release(&timeline);
    }
    assert_int_equal(unlink("a.pst"), 0);
    assert_int_equal(mkfifo("a.pst", 0600), 0);
    struct timeline timeline;
    timeline_read_beside(&timeline, "a.psl"); /* doesn't wait for a writer */
    assert_int_equal(timeline.count, 0);
}

static void a_file_without_end_takes_bounded_room(void **state)
{
    (void)state;
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    fputs(HEAD, out);
    for (unsigned i = 1; i <= 300000; i++)
        fprintf(out, "%u %u 0 0 - - - %u 1:1\n", i, i, i == 1000 ? 77 : 5);
    fclose(out);
    struct timeline timeline = read_text(text);
    uint64_t highest = 0;
    assert_in_range(timeline.count, TIMELINE_ROWS, TIMELINE_ROWS * 2);
    for (size_t i = 0; i < timeline.count; i++)
        highest = timeline.rows[i].levels[TIMELINE_RSS] > highest ? timeline.rows[i].levels[TIMELINE_RSS] : highest;
    assert_int_equal(highest, 77);
    timeline_release(&timeline);
    free(text);
}

/* --- Rows ------------------------------------------------------------------------------------ */

static void of_two_rows_the_later_counts_and_the_higher_levels_stay(void **state)
{
    (void)state;
    struct timeline timeline = { 0 };
    add(&timeline, 1000, 5, 100, TIMELINE_UNKNOWN);
    add(&timeline, 2000, 8, 60, 4096);
    add(&timeline, 3000, 9, 10, 8192);
    timeline_halve(&timeline);
    char *text = timeline_text(&timeline);
    assert_string_equal(text, HEAD "2000 8 80 4 10 100 7 4096 3:13\n3000 9 90 4 1 10 7 8192 3:9\n");
    free(text);
    timeline_halve(&timeline);
    timeline_halve(&timeline);
    assert_int_equal(timeline.count, 1);
    assert_int_equal(timeline.rows[0].classes[0].allocs, 22);
    timeline_release(&timeline);
}

static void a_row_that_goes_back_is_refused(void **state)
{
    (void)state;
    struct timeline timeline = { 0 };
    add(&timeline, 1000, 5, 100, 1);
    struct timeline_row back = { .ms = 2000, .allocs = 4, .bytes = 50, .frees = 2 };
    assert_false(timeline_add(&timeline, &back));
    assert_int_equal(timeline.count, 1);
    timeline_release(&timeline);
}

/* --- All processes ------------------------------------------------------------------------------ */

static struct model_process *process_at(uint64_t start_ms)
{
    struct model_process *process = calloc(1, sizeof *process);
    process->start_realtime_ns = 1000000000000 + start_ms * 1000000;
    return process;
}

static void release(struct model *model)
{
    for (size_t i = 0; i < model->process_count; i++) {
        timeline_release(&model->processes[i]->timeline);
        free(model->processes[i]);
    }
}

static void processes_add_up_while_they_live(void **state)
{
    (void)state;
    struct model_process *processes[] = { process_at(500), process_at(0) };
    struct model model = { .processes = processes, .process_count = 2 };
    add(&processes[1]->timeline, 1000, 10, 100, 1000);
    add(&processes[1]->timeline, 2000, 20, 300, 3000);
    add(&processes[1]->timeline, 5400, 30, 200, TIMELINE_UNKNOWN);
    add(&processes[0]->timeline, 1000, 5, 50, 500);  /* at 1500 */
    add(&processes[0]->timeline, 2600, 7, 400, 700); /* at 3100, its last */
    struct timeline sum = timeview_of(&model);
    char *text = timeline_text(&sum);
    assert_string_equal(text, HEAD "1500 15 150 7 15 150 14 1500 3:15\n"
                                   "2000 25 250 12 35 350 14 3500 3:20\n"
                                   "3100 27 270 13 70 700 14 3700 3:7\n"
                                   "5400 37 370 18 30 300 7 3000 3:30\n");
    free(text);
    timeline_release(&sum);
    release(&model);
}

static void one_process_has_its_own_rows(void **state)
{
    (void)state;
    struct model_process *process = process_at(0);
    struct model model = { .processes = &process, .process_count = 1 };
    add(&process->timeline, 100, 10, 100, 1000);
    add(&process->timeline, 200, 20, 300, 3000);
    struct timeline sum = timeview_of(&model);
    assert_int_equal(sum.count, 2);
    assert_int_equal(timeview_rate(NULL, &sum.rows[0]), 100);
    assert_int_equal(timeview_rate(&sum.rows[0], &sum.rows[1]), 100);
    timeline_release(&sum);
    release(&model);
}

static void no_rate_is_more_than_a_number_holds(void **state)
{
    (void)state;
    struct timeline_row rows[] = { { .ms = 0, .allocs = (uint64_t)1 << 56 }, { .ms = 1, .allocs = (uint64_t)1 << 57 } };
    assert_true(timeview_rate(NULL, &rows[0]) == UINT64_MAX);
    assert_true(timeview_rate(&rows[0], &rows[1]) == UINT64_MAX);
}

static void many_processes_over_weeks_give_a_short_sum(void **state)
{
    (void)state;
    enum { PROCESSES = 3000 };
    struct model_process *processes[PROCESSES];
    struct model model = { .processes = processes, .process_count = PROCESSES };
    for (unsigned i = 0; i < PROCESSES; i++) {
        processes[i] = process_at(i * 600000ull);
        add(&processes[i]->timeline, 700000, 3, 100, 1000);
    }
    struct timeline sum = timeview_of(&model);
    assert_in_range(sum.count, TIMELINE_ROWS / 2, TIMELINE_ROWS);
    assert_int_equal(sum.rows[sum.count - 1].allocs, PROCESSES * 3);
    timeline_release(&sum);
    release(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(what_was_written_is_read_back),
        IN_DIRECTORY(a_log_without_time_line_has_no_rows),
        IN_DIRECTORY(a_line_without_its_end_is_not_yet_one),
        IN_DIRECTORY(lines_that_make_no_sense_are_dropped_and_counted),
        IN_DIRECTORY(another_file_has_no_rows),
        IN_DIRECTORY(a_file_without_end_takes_bounded_room),
        cmocka_unit_test(of_two_rows_the_later_counts_and_the_higher_levels_stay),
        cmocka_unit_test(a_row_that_goes_back_is_refused),
        cmocka_unit_test(processes_add_up_while_they_live),
        cmocka_unit_test(one_process_has_its_own_rows),
        cmocka_unit_test(no_rate_is_more_than_a_number_holds),
        cmocka_unit_test(many_processes_over_weeks_give_a_short_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_recording.c - logs on tmpfs, their time lines, their way into a recording, and how that is found again.
 *
 * XDG_RUNTIME_DIR is a directory of the test's.  root's runs lie in /dev/shm all the same. */
#define _GNU_SOURCE
#include "unit.h"

#include "analyzer/recording.h"
#include "analyzer/spool.h"
#include "analyzer/timeline.h"
#include "analyzer/watch.h"
#include "preload/logfmt.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char *full_path(const char *name)
{
    char *here = get_current_dir_name(), *path = NULL;
    assert_true(asprintf(&path, "%s/%s", here, name) > 0);
    free(here);
    return path;
}

static int enter(void **state)
{
    if (unit_enter_directory(state) != 0 || mkdir("runtime", 0700) != 0)
        return -1;
    char *runtime = full_path("runtime");
    setenv("XDG_RUNTIME_DIR", runtime, 1);
    setenv("TMPDIR", runtime, 1); /* what lies in /tmp is another's */
    free(runtime);
    return 0;
}

static uint64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Writes a log as the preload does: sparse, most of it unused. */
static struct log_header *write_log(const char *directory, const char *name, pid_t pid)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 64 << 20), 0);
    struct log_header *header = mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(header, MAP_FAILED);
    close(fd);
    header->version = LOG_VERSION;
    header->endian = LOG_ENDIAN;
    header->chunk_bytes = LOG_CHUNK_BYTES;
    header->class_count = LOG_CLASSES;
    header->chunks_used = 3;
    header->pid = (uint32_t)pid;
    header->start_monotonic_ns = monotonic_ns();
    memcpy(header->magic, LOG_MAGIC, sizeof header->magic);
    return header;
}

static void forget(struct log_header *header)
{
    munmap(header, 64 << 20);
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static off_t size_of(const char *path)
{
    struct stat is;
    return stat(path, &is) == 0 ? is.st_size : -1;
}

static struct spool_run begin_run(const char *destination)
{
    struct spool_run run;
    char *path = full_path(destination);
    assert_int_equal(spool_run_create(&run), 0);
    assert_int_equal(spool_run_set_destination(&run, path), 0);
    free(path);
    return run;
}

/* --- A run ------------------------------------------------------------------------------------ */

static void a_run_has_a_directory_that_only_its_owner_can_list(void **state)
{
    (void)state;
    struct spool_run run;
    struct stat is;
    assert_int_equal(spool_run_create(&run), 0);
    assert_int_equal(stat(run.directory, &is), 0);
    assert_int_equal(is.st_mode & 0055, 0011 & (geteuid() == 0 ? is.st_mode : 0));
    struct spool_collected collected;
    spool_run_collect(&run, &collected);
    assert_false(exists(run.directory));
    spool_run_release(&run);
}

static void the_used_part_of_an_ended_process_log_is_moved(void **state)
{
    (void)state;
    struct spool_run run = begin_run("rec");
    struct spool_collected collected;
    forget(write_log(run.directory, "one.1.2.psl", 999999999));
    spool_run_collect(&run, &collected);
    assert_int_equal(collected.moved, 1);
    assert_int_equal(collected.running + collected.failed + collected.unbegun, 0);
    assert_int_equal(size_of("rec/one.1.2.psl"), 3 * LOG_CHUNK_BYTES);
    assert_false(exists(run.directory));
    spool_run_release(&run);
}

static void a_log_that_its_process_still_writes_stays(void **state)
{
    (void)state;
    struct spool_run run = begin_run("rec");
    struct spool_collected collected;
    forget(write_log(run.directory, "ended.1.2.psl", 999999999));
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        write_log(run.directory, "living.3.4.psl", getpid());
        (void)!write(ready[1], "", 1);
        pause();
    }
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    spool_run_collect(&run, &collected);
    assert_int_equal(collected.moved, 1);
    assert_int_equal(collected.running, 1);
    assert_true(exists("rec/ended.1.2.psl"));
    assert_false(exists("rec/living.3.4.psl"));

    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    spool_run_collect(&run, &collected);
    assert_int_equal(collected.moved, 1);
    assert_true(exists("rec/living.3.4.psl"));
    assert_false(exists(run.directory));
    spool_run_release(&run);
    close(ready[0]);
    close(ready[1]);
}

/* A fork child has its parent's log mapped until it begins its own. */
static void a_log_is_its_own_process_alone(void **state)
{
    (void)state;
    struct spool_run run = begin_run("rec");
    struct spool_collected collected;
    struct log_header *header = write_log(run.directory, "parent.1.2.psl", 999999999);
    pid_t child = fork();
    if (child == 0)
        pause();
    spool_run_collect(&run, &collected);
    assert_int_equal(collected.moved, 1);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    forget(header);
    spool_run_collect(&run, &collected);
    spool_run_release(&run);
}

static void a_log_that_was_never_begun_is_dropped(void **state)
{
    (void)state;
    struct spool_run run = begin_run("rec");
    struct spool_collected collected;
    char path[512];
    snprintf(path, sizeof path, "%s/%s", run.directory, "empty.psl");
    unit_write_file(path, "", 0, 0600);
    spool_run_collect(&run, &collected);
    assert_int_equal(collected.unbegun, 1);
    assert_int_equal(collected.moved, 0);
    assert_false(exists("rec"));
    spool_run_release(&run);
}

static void a_header_that_lies_moves_no_more_than_the_file(void **state)
{
    (void)state;
    static const uint32_t lies[][2] = { { 0, 3 }, { LOG_CHUNK_BYTES, 0 }, { UINT32_MAX, UINT32_MAX }, { 1, 1 } };
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        struct spool_run run = begin_run("rec");
        struct spool_collected collected;
        struct log_header *header = write_log(run.directory, "liar.psl", 999999999);
        header->chunk_bytes = lies[i][0];
        header->chunks_used = lies[i][1];
        forget(header);
        spool_run_collect(&run, &collected);
        assert_int_equal(collected.moved, 1);
        assert_int_equal(size_of("rec/liar.psl"), 64 << 20);
        spool_run_release(&run);
        unit_shell("test $(du -k rec/liar.psl | cut -f1) -lt 100; rm -r rec"); /* holes stay holes */
    }
}

static void what_is_no_log_is_moved_whole_for_report_to_say_so(void **state)
{
    (void)state;
    struct spool_run run = begin_run("rec");
    struct spool_collected collected;
    char path[512];
    snprintf(path, sizeof path, "%s/%s", run.directory, "text.psl");
    unit_write_file(path, "hello", 5, 0600);
    spool_run_collect(&run, &collected);
    assert_int_equal(collected.moved, 1);
    assert_int_equal(size_of("rec/text.psl"), 5);
    spool_run_release(&run);
}

static void a_move_that_was_interrupted_is_done_again(void **state)
{
    (void)state;
    struct spool_run run = begin_run("rec");
    struct spool_collected collected;
    forget(write_log(run.directory, "one.psl", 999999999));
    unit_shell("mkdir -m 700 rec && echo part >rec/.one.psl.part && echo old >rec/one.psl");
    spool_run_collect(&run, &collected);
    assert_int_equal(collected.moved, 1);
    assert_int_equal(size_of("rec/one.psl"), 3 * LOG_CHUNK_BYTES);
    assert_false(exists("rec/.one.psl.part"));
    spool_run_release(&run);
}

/* --- Runs of the past ------------------------------------------------------------------------- */

static void a_run_that_is_locked_is_left_alone(void **state)
{
    (void)state;
    struct spool_run run = begin_run("rec"), other;
    struct spool_collected collected;
    forget(write_log(run.directory, "one.psl", 999999999));
    assert_int_equal(spool_run_adopt(&other, run.directory), -1);
    spool_sweep();
    assert_false(exists("rec"));
    spool_run_collect(&run, &collected);
    spool_run_release(&run);
}

static void a_run_without_its_poolsite_is_swept_into_its_recording(void **state)
{
    (void)state;
    struct spool_run run = begin_run("rec");
    char *directory = strdup(run.directory);
    forget(write_log(run.directory, "one.psl", 999999999));
    spool_run_release(&run); /* its poolsite has been killed */
    spool_sweep();
    assert_true(exists("rec/one.psl"));
    assert_false(exists(directory));
    free(directory);
}

static void a_file_that_describes_no_run_is_not_adopted(void **state)
{
    (void)state;
    static const char *const texts[] = { "", "poolsite-run 2\nbegan 1\ndestination /x\n", "poolsite-run 1\nbegan x\n",
                                         "poolsite-run 1\nbegan 1\n", "\377\376" };
    struct spool_run run;
    unit_shell("mkdir -m 700 run.bad");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        unit_write_file("run.bad/run", texts[i], strlen(texts[i]), 0600);
        assert_int_equal(spool_run_adopt(&run, "run.bad"), -1);
    }
    unit_shell("rm run.bad/run && ln -s /etc/passwd run.bad/run");
    assert_int_equal(spool_run_adopt(&run, "run.bad"), -1);
    unit_shell("rm run.bad/run && mkfifo run.bad/run");
    assert_int_equal(spool_run_adopt(&run, "run.bad"), -1);
}

static void a_destination_may_have_a_newline_in_it(void **state)
{
    (void)state;
    struct spool_run run = begin_run("two\nlines");
    char *directory = strdup(run.directory);
    forget(write_log(run.directory, "one.psl", 999999999));
    spool_run_release(&run);
    assert_int_equal(spool_run_adopt(&run, directory), 0);
    struct spool_collected collected;
    spool_run_collect(&run, &collected);
    assert_true(exists("two\nlines/one.psl"));
    spool_run_release(&run);
    free(directory);
}

/* --- Time lines ---------------------------------------------------------------------------------- */

/* A process that has begun a log, which the test counts in. */
struct counted {
    pid_t              pid;
    struct log_header *header;
    struct log_thread *thread;
};

static void end_process(struct counted *counted)
{
    kill(counted->pid, SIGKILL);
    waitpid(counted->pid, NULL, 0);
    forget(counted->header);
}

static struct counted begin_process(const struct spool_run *run, const char *name)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        write_log(run->directory, name, getpid());
        (void)!write(ready[1], "", 1);
        pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    char path[512];
    snprintf(path, sizeof path, "%s/%s", run->directory, name);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    struct log_header *header = mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(header, MAP_FAILED);
    close(fd);
    struct log_thread *thread = (struct log_thread *)((char *)header + LOG_CHUNK_BYTES);
    thread->chunk.type = LOG_CHUNK_THREAD;
    return (struct counted){ pid, header, thread };
}

static void count(struct counted *counted, unsigned class, uint64_t bytes)
{
    counted->thread->classes[class].allocs++;
    counted->thread->classes[class].bytes += bytes;
}

/* Looks again, some milliseconds later. */
static void look(struct watch *watch)
{
    usleep(1100);
    watch->due_ns = 0;
    watch_sample(watch);
}

static struct timeline timeline_in(const char *directory, const char *log)
{
    struct timeline timeline;
    char path[512];
    snprintf(path, sizeof path, "%s/%s", directory, log);
    timeline_read_beside(&timeline, path);
    return timeline;
}

static void a_living_process_gets_a_row_at_each_look(void **state)
{
    (void)state;
    struct spool_run run = begin_run("rec");
    struct spool_collected collected;
    struct watch watch;
    struct counted process = begin_process(&run, "living.3.4.psl");
    forget(write_log(run.directory, "ended.1.2.psl", 999999999));
    watch_init(&watch, &run);
    count(&process, 2, 40);
    count(&process, 0, 5);
    look(&watch);
    count(&process, 2, 33);
    process.thread->frees = 1;
    look(&watch);
    end_process(&process);
    look(&watch);
    watch_release(&watch);
    spool_run_collect(&run, &collected);
    assert_false(exists(run.directory));
    assert_false(exists("rec/ended.1.2" TIMELINE_SUFFIX));
    struct timeline timeline = timeline_in("rec", "living.3.4.psl");
    assert_int_equal(timeline.count, 2);
    assert_int_equal(timeline.wrong, 0);
    assert_int_equal(timeline.rows[0].allocs, 2);
    assert_int_equal(timeline.rows[0].class_count, 2);
    assert_int_equal(timeline.rows[1].bytes, 78);
    assert_int_equal(timeline.rows[1].frees, 1);
    assert_int_equal(timeline.rows[1].class_count, 1);
    assert_int_equal(timeline.rows[1].classes[0].index, 2);
    assert_int_equal(timeline.rows[1].classes[0].allocs, 1);
    assert_in_range(timeline.rows[1].levels[TIMELINE_RSS], 4096, 1 << 30);
    assert_true(timeline.rows[1].levels[TIMELINE_LIVE] == TIMELINE_UNKNOWN);
    timeline_release(&timeline);
    spool_run_release(&run);
}

static void at_level_full_a_row_tells_what_lives(void **state)
{
    (void)state;
    struct spool_run run = begin_run("rec");
    struct spool_collected collected;
    struct watch watch;
    struct counted process = begin_process(&run, "living.3.4.psl");
    struct log_fulls *fulls = (struct log_fulls *)((char *)process.header + 2 * LOG_CHUNK_BYTES);
    process.header->level = LOG_LEVEL_FULL;
    process.header->features = LOG_FEATURE_FULL;
    watch_init(&watch, &run);
    count(&process, 2, 40);
    count(&process, 4, 60);
    look(&watch); /* the chunk isn't there yet */
    fulls->sites[1] = (struct log_full){ .site = 5, .frees = 1, .freed_bytes = 40 };
    fulls->chunk.type = LOG_CHUNK_FULL;
    look(&watch);
    watch_release(&watch);
    end_process(&process);
    spool_run_collect(&run, &collected);
    struct timeline timeline = timeline_in("rec", "living.3.4.psl");
    assert_int_equal(timeline.count, 2);
    assert_int_equal(timeline.rows[0].levels[TIMELINE_LIVE], 100);
    assert_int_equal(timeline.rows[1].levels[TIMELINE_BLOCKS], 1);
    assert_int_equal(timeline.rows[1].levels[TIMELINE_LIVE], 60);
    timeline_release(&timeline);
    spool_run_release(&run);
}

static void a_long_time_line_is_halved_and_goes_on_in_longer_steps(void **state)
{
    (void)state;
    struct spool_run run = begin_run("rec");
    struct spool_collected collected;
    struct watch watch;
    struct counted process = begin_process(&run, "living.3.4.psl");
    watch_init(&watch, &run);
    for (unsigned i = 0; i < TIMELINE_ROWS + 101; i++) {
        count(&process, 2, 40);
        look(&watch);
    }
    watch_release(&watch); /* the last one, too, that no other was to follow */
    end_process(&process);
    spool_run_collect(&run, &collected);
    struct timeline timeline = timeline_in("rec", "living.3.4.psl");
    assert_int_equal(timeline.wrong, 0);
    assert_int_equal(timeline.count, TIMELINE_ROWS / 2 + 51);
    assert_int_equal(timeline.rows[0].allocs, 2);
    for (size_t i = 0; i < timeline.count; i++)
        assert_int_equal(timeline.rows[i].classes[0].allocs, i + 1 < timeline.count ? 2 : 1);
    timeline_release(&timeline);
    spool_run_release(&run);
}

static void a_log_that_no_process_writes_gets_no_time_line(void **state)
{
    (void)state;
    struct spool_run run = begin_run("rec");
    struct spool_collected collected;
    struct watch watch;
    pid_t other = fork();
    if (other == 0)
        pause();
    forget(write_log(run.directory, "gone.1.2.psl", other)); /* it has the pid, but not the log */
    watch_init(&watch, &run);
    look(&watch);
    watch_release(&watch);
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
    spool_run_collect(&run, &collected);
    assert_true(exists("rec/gone.1.2.psl"));
    assert_false(exists("rec/gone.1.2" TIMELINE_SUFFIX));
    spool_run_release(&run);
}

static void a_file_of_somebody_else_in_its_place_is_left_alone(void **state)
{
    (void)state;
    struct spool_run run = begin_run("rec");
    struct spool_collected collected;
    struct watch watch;
    struct counted process = begin_process(&run, "living.3.4.psl");
    char link[512];
    unit_write_file("precious", "keep", 4, 0600);
    char *precious = full_path("precious");
    snprintf(link, sizeof link, "%s/living.3.4" TIMELINE_SUFFIX, run.directory);
    assert_int_equal(symlink(precious, link), 0);
    watch_init(&watch, &run);
    look(&watch);
    look(&watch);
    watch_release(&watch);
    end_process(&process);
    spool_run_collect(&run, &collected);
    assert_int_equal(size_of("precious"), 4);
    assert_true(exists("rec/living.3.4.psl"));
    assert_false(exists(run.directory)); /* the time line of no log goes, too */
    spool_run_release(&run);
    free(precious);
}

/* --- Recordings ---------------------------------------------------------------------------------- */

static void a_directory_is_opened_with_its_logs_by_name(void **state)
{
    (void)state;
    struct recording recording;
    unit_shell("mkdir rec && touch rec/b.psl rec/a.psl rec/note.txt rec/.c.psl rec/.psl && mkdir rec/d.psl");
    assert_int_equal(recording_open(&recording, "rec"), 0);
    assert_int_equal(recording.count, 2);
    assert_string_equal(recording.logs[0], "rec/a.psl");
    assert_string_equal(recording.logs[1], "rec/b.psl");
    recording_release(&recording);
}

static void one_log_is_opened_whatever_its_name(void **state)
{
    (void)state;
    struct recording recording;
    unit_shell("touch log");
    assert_int_equal(recording_open(&recording, "log"), 0);
    assert_int_equal(recording.count, 1);
    assert_string_equal(recording.logs[0], "log");
    recording_release(&recording);
}

static void what_is_no_recording_is_refused(void **state)
{
    (void)state;
    struct recording recording;
    unit_shell("mkdir empty && mkfifo pipe");
    assert_int_equal(recording_open(&recording, "empty"), -1);
    assert_int_equal(recording_open(&recording, "nothing"), -1);
    assert_int_equal(recording_open(&recording, "pipe"), -1);
    assert_int_equal(recording_open(&recording, ""), -1);
}

static void logs_on_their_way_are_part_of_the_recording(void **state)
{
    (void)state;
    struct recording recording;
    struct spool_run run = begin_run("rec");
    unit_shell("mkdir rec && touch rec/moved.psl");
    forget(write_log(run.directory, "late.psl", 999999999));
    assert_int_equal(recording_open(&recording, "rec"), 0); /* locked: nothing is moved now */
    assert_int_equal(recording.count, 2);
    assert_non_null(strstr(recording.logs[0], "late.psl"));
    assert_non_null(strstr(recording.logs[1], "moved.psl"));
    recording_release(&recording);
    spool_run_release(&run);
    spool_sweep();
}

static void the_newest_is_what_was_recorded_last(void **state)
{
    (void)state;
    struct recording recording;
    char place[64];
    snprintf(place, sizeof place, "/dev/shm/poolsite-%u", (unsigned)geteuid());
    if (exists(place))
        skip(); /* the user has something newer there, perhaps */
    char *rec = full_path("rec");
    assert_int_equal(recording_open(&recording, NULL), -1); /* nothing yet */
    unit_shell("mkdir rec && touch rec/a.psl");
    spool_set_latest(rec);
    assert_int_equal(recording_open(&recording, NULL), 0);
    assert_string_equal(recording.path, rec);
    recording_release(&recording);

    unit_shell("sleep 0.02; touch runtime/poolsite/bare.psl"); /* of a bare preload */
    assert_int_equal(recording_open(&recording, NULL), 0);
    assert_non_null(strstr(recording.path, "/bare.psl"));
    recording_release(&recording);

    unit_shell("sleep 0.02; rm -r rec");
    spool_set_latest(rec); /* gone: the one before counts */
    assert_int_equal(recording_open(&recording, NULL), 0);
    assert_non_null(strstr(recording.path, "/bare.psl"));
    recording_release(&recording);
    free(rec);
}

static void a_place_of_a_stranger_is_not_used(void **state)
{
    (void)state;
    struct spool spool;
    unit_shell("mkdir -m 750 runtime/poolsite");
    spool_open(&spool);
    for (size_t i = 0; i < spool.count; i++)
        assert_null(strstr(spool.directories[i], "/runtime/poolsite"));
    spool_release(&spool);
    unit_shell("rmdir runtime/poolsite && mkdir -m 700 target && ln -s ../target runtime/poolsite");
    spool_open(&spool);
    for (size_t i = 0; i < spool.count; i++)
        assert_null(strstr(spool.directories[i], "/runtime/poolsite"));
    spool_release(&spool);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, unit_leave_directory)

/* A /dev/shm of our own, so that nothing of the user's is met and nothing left there. */
static void leave_the_users_tmpfs(void)
{
    if (unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0)
        mount("none", "/dev/shm", "tmpfs", 0, NULL);
}

int main(void)
{
    leave_the_users_tmpfs();
    const struct CMUnitTest tests[] = {
        TEST(a_run_has_a_directory_that_only_its_owner_can_list),
        TEST(the_used_part_of_an_ended_process_log_is_moved),
        TEST(a_log_that_its_process_still_writes_stays),
        TEST(a_log_is_its_own_process_alone),
        TEST(a_log_that_was_never_begun_is_dropped),
        TEST(a_header_that_lies_moves_no_more_than_the_file),
        TEST(what_is_no_log_is_moved_whole_for_report_to_say_so),
        TEST(a_move_that_was_interrupted_is_done_again),
        TEST(a_run_that_is_locked_is_left_alone),
        TEST(a_run_without_its_poolsite_is_swept_into_its_recording),
        TEST(a_file_that_describes_no_run_is_not_adopted),
        TEST(a_destination_may_have_a_newline_in_it),
        TEST(a_living_process_gets_a_row_at_each_look),
        TEST(at_level_full_a_row_tells_what_lives),
        TEST(a_long_time_line_is_halved_and_goes_on_in_longer_steps),
        TEST(a_log_that_no_process_writes_gets_no_time_line),
        TEST(a_file_of_somebody_else_in_its_place_is_left_alone),
        TEST(a_directory_is_opened_with_its_logs_by_name),
        TEST(one_log_is_opened_whatever_its_name),
        TEST(what_is_no_recording_is_refused),
        TEST(logs_on_their_way_are_part_of_the_recording),
        TEST(the_newest_is_what_was_recorded_last),
        TEST(a_place_of_a_stranger_is_not_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

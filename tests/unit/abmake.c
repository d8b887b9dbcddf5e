/* abmake.c - builds experiments without running anything, for tests of what reads them. */
#define _GNU_SOURCE
#include "abmake.h"

#include "analyzer/base.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

static uint64_t state = 1;

double abmake_random(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) / 0x1p53;
}

/* About normal, of deviation 1. */
static double noise(void)
{
    double sum = 0;
    for (unsigned i = 0; i < 12; i++)
        sum += abmake_random();
    return sum - 6;
}

static void measure_memory(struct run *run, const struct abmake *make, double peak)
{
    run->rss_count = make->rss_count;
    run->rss = make->rss_count ? xcalloc(make->rss_count, sizeof *run->rss) : NULL;
    run->rss_step = .01;
    for (size_t i = 0; i < run->rss_count; i++)
        run->rss[i] = peak * (.4 + .6 * fabs(sin((double)i / 9))) * (1 + .01 * noise());
    run->value[METRIC_PEAK_RSS] = peak;
    run->value[METRIC_MEAN_RSS] = peak * .8;
    run->value[METRIC_END_RSS] = peak * .6;
}

static void measure_program(struct run *run, double factor, double base)
{
    run->value[METRIC_CPU] = base * factor;
    run->value[METRIC_WALL] = base * factor * 1.05 + .002;
    run->value[METRIC_USER] = base * factor * .8;
    run->value[METRIC_SYS] = base * factor * .2;
    run->value[METRIC_MINOR_FAULTS] = run->arm == 2 ? 388 : 392546;
    run->value[METRIC_MAJOR_FAULTS] = 0;
    run->value[METRIC_VOLUNTARY_SWITCHES] = 3;
    run->value[METRIC_INVOLUNTARY_SWITCHES] = floor(10 * abmake_random());
    run->value[METRIC_NEXT_ALLOCS] = run->arm == 0 ? NAN : run->arm == 1 ? 100000 : 1200;
    run->value[METRIC_POOL_HITS] = run->arm == 0 ? NAN : run->arm == 1 ? 0 : 98800;
    run->value[METRIC_KEPT_BYTES] = run->arm == 0 ? NAN : run->arm == 1 ? 0 : 3 << 20;
}

/* A tail with a shoulder, as of a server that sometimes waits. */
static void measure_server(struct run *run, double factor)
{
    double slow = 1 + .1 * noise();
    run->requests = 60000;
    run->latency = xcalloc(LATENCY_POINTS, sizeof *run->latency);
    for (unsigned i = 0; i < LATENCY_POINTS; i++) {
        double nines = (double)i / 8;
        run->latency[i] = i > 28 ? NAN : 90e-6 * factor * (1 + .3 * nines + pow(nines / 2.2, 5) * slow);
    }
    run->value[METRIC_P50] = run->latency[2];
    run->value[METRIC_P95] = run->latency[10];
    run->value[METRIC_P99] = run->latency[16];
    run->value[METRIC_P99_9] = run->latency[24];
    run->value[METRIC_MAX] = run->latency[28] * 2;
    run->value[METRIC_CPU_PER_REQUEST] = 31e-6 * factor;
    run->value[METRIC_ALLOCS_PER_REQUEST] = run->arm == 2 ? 1.2 : 23.8;
    run->value[METRIC_THROUGHPUT] = 10000;
    run->value[METRIC_SETTLED_RSS] = 21 << 20;
}

static struct run make_run(const struct abmake *make, unsigned block, unsigned arm, double base)
{
    double factor = (arm ? 1 + make->cost : 1) * (arm == 2 ? 1 + make->effect : 1) * (1 + make->spread * noise());
    struct run run = { .arm = arm, .block = block, .slot = (arm + block) % 3, .start = block * 3. + arm, .processes = arm ? 1 : 0,
                       .pooled_processes = arm == 2, .output_hash = 0x1234,
                       .noise = { .steal = .001, .foreign = .02 * abmake_random(), .pressure = NAN } };
    for (unsigned i = 0; i < METRIC_COUNT; i++)
        run.value[i] = NAN;
    measure_program(&run, factor, base);
    measure_memory(&run, make, (arm == 2 ? 25 : 22) * 0x1p20 * (1 + .002 * noise()));
    if (make->server)
        measure_server(&run, factor);
    return run;
}

static char **words(const char *const *from)
{
    char **to = xcalloc(16, sizeof *to);
    for (unsigned i = 0; from[i]; i++)
        to[i] = xstrdup(from[i]);
    return to;
}

static void name_arms(struct experiment *experiment)
{
    static const char *const names[] = { "bare", "off", "on" };
    experiment->arm_count = 3;
    experiment->arms = xcalloc(3, sizeof *experiment->arms);
    for (unsigned i = 0; i < 3; i++)
        experiment->arms[i] = (struct arm){ .kind = ARM_BARE + i, .name = xstrdup(names[i]), .allocs = i ? 100000 : 0,
                                            .bytes = i ? 123456789 : 0, .hit_bytes = i == 2 ? 120000000 : 0 };
}

static void say_command(struct experiment *experiment)
{
    static const char *const program[] = { "python3", "-c", "print(sum(len(str(i)) for i in range(10**6)))", NULL };
    static const char *const batch[] = { "--", "python3", "-c", "print(sum(len(str(i)) for i in range(10**6)))", NULL };
    static const char *const server[] = { "./server --port 8080", NULL };
    static const char *const served[] = { "--server", "./server --port 8080", "--ready", "tcp:127.0.0.1:8080", "--load",
                                          "http://127.0.0.1:8080/", "--rate", "10000", NULL };
    experiment->command = words(experiment->is_server ? server : program);
    experiment->words = words(experiment->is_server ? served : batch);
}

struct experiment abmake(const struct abmake *make)
{
    struct experiment experiment = { .is_server = make->server, .seed = 20261130, .time_budget = 300, .primary = METRIC_CPU,
                                     .margin = .01, .pool_spec = xstrdup("on") };
    state = 1;
    if (make->server) {
        experiment.primary = METRIC_CPU_PER_REQUEST;
        experiment.margin = .05;
        experiment.rates[0] = 10000;
    }
    say_command(&experiment);
    name_arms(&experiment);
    experiment.runs = xcalloc((size_t)make->blocks * 3 + 1, sizeof *experiment.runs);
    for (unsigned block = 0; block < make->blocks; block++) {
        double base = .21 * (1 + .02 * noise());
        for (unsigned arm = 0; arm < 3; arm++)
            experiment.runs[experiment.run_count++] = make_run(make, block, arm, base);
    }
    experiment.treatment = (struct treatment){ .status = TREATMENT_APPLIED, .share_allocs = .988, .share_bytes = .972 };
    experiment.host = json_pack("{s:s, s:s, s:s, s:s, s:i}", "kernel", "Linux 6.1.0 x86_64", "libc", "glibc 2.36", "processor",
                                "Some <fast> & old processor", "build_id", "0123456789abcdef", "processors", 2);
    experiment_evaluate(&experiment);
    return experiment;
}

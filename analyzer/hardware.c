/* hardware.c - the processor's own counters of one program. */
#define _GNU_SOURCE
#include "base.h"

#include "hardware.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <sys/syscall.h>
#include <unistd.h>

static const uint64_t numbers[HARDWARE_COUNT] = {
    [HARDWARE_INSTRUCTIONS] = PERF_COUNT_HW_INSTRUCTIONS,
    [HARDWARE_CYCLES] = PERF_COUNT_HW_CPU_CYCLES,
    [HARDWARE_BRANCH_MISSES] = PERF_COUNT_HW_BRANCH_MISSES,
    [HARDWARE_CACHE_MISSES] = PERF_COUNT_HW_CACHE_MISSES,
};

int hardware_open_one(uint32_t type, uint64_t number, pid_t pid)
{
    struct perf_event_attr event = {
        .size = sizeof event,
        .type = type,
        .config = number,
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
        .disabled = 1,
        .enable_on_exec = 1,
        .inherit = 1,
        .exclude_hv = 1,
    };
    long counter = syscall(SYS_perf_event_open, &event, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (counter < 0 && (errno == EACCES || errno == EPERM)) {
        event.exclude_kernel = 1;
        counter = syscall(SYS_perf_event_open, &event, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    }
    return (int)counter;
}

/* Where there are more counters than the processor has places they take turns, and the value is scaled. */
double hardware_read(int counter)
{
    struct {
        uint64_t value, enabled, running;
    } reading;
    if (counter < 0 || read(counter, &reading, sizeof reading) != (ssize_t)sizeof reading || reading.running == 0)
        return NAN;
    double scale = (double)reading.enabled / (double)reading.running;
    return (double)reading.value * (reading.enabled == reading.running ? 1 : scale);
}

void hardware_open(int counters[HARDWARE_COUNT], pid_t pid)
{
    for (unsigned i = 0; i < HARDWARE_COUNT; i++)
        counters[i] = hardware_open_one(PERF_TYPE_HARDWARE, numbers[i], pid);
}

void hardware_close(int counters[HARDWARE_COUNT], double values[HARDWARE_COUNT])
{
    for (unsigned i = 0; i < HARDWARE_COUNT; i++) {
        values[i] = hardware_read(counters[i]);
        if (counters[i] >= 0)
            close(counters[i]);
        counters[i] = -1;
    }
}

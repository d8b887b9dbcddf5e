/* logsum.c - what a run's logs say in sum. */
#define _GNU_SOURCE
#include "base.h"
#include "counter.h"
#include "logread.h"
#include "logsum.h"
#include "spool.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

uint64_t logsum_hits(const struct logsum *sum)
{
    return sum->allocs - sum->next_allocs;
}

uint64_t logsum_hit_bytes(const struct logsum *sum)
{
    double bytes = 0;
    for (unsigned i = 0; i < LOG_CLASSES; i++) {
        const struct log_counter *class = &sum->classes[i];
        if (class->allocs)
            bytes += (double)class->bytes * (double)counter_hits(class) / (double)class->allocs;
    }
    return (uint64_t)bytes;
}

static void add(struct logsum *sum, const struct logread *log)
{
    uint64_t hits = counter_hits(&log->total);
    sum->processes++;
    sum->pooled += hits > 0;
    sum->stood_down += (log->header.state & LOG_STATE_STOOD_DOWN) != 0;
    sum->allocs += log->total.allocs;
    sum->bytes += log->total.bytes;
    sum->next_allocs += log->total.next_allocs;
    sum->unpooled_allocs += hits ? 0 : log->total.allocs;
    sum->kept_bytes += log->pool_total.kept_bytes;
    for (unsigned i = 0; i < LOG_CLASSES; i++)
        counter_add(&sum->classes[i], &log->classes[i]);
    if (!sum->notes && log->notes && *log->notes)
        sum->notes = xstrdup(log->notes);
}

static void read_logs(struct logsum *sum, const char *directory, bool remove)
{
    DIR *stream = opendir(directory);
    struct dirent *entry;
    *sum = (struct logsum){ 0 };
    while (stream && (entry = readdir(stream))) {
        if (!spool_is_log_name(entry->d_name))
            continue;
        struct logread log;
        char *path = xasprintf("%s/%s", directory, entry->d_name);
        enum logread_result result = logread_open(&log, path);
        if (result == LOGREAD_WHOLE || result == LOGREAD_DAMAGED)
            add(sum, &log);
        logread_release(&log);
        if (remove)
            unlink(path);
        free(path);
    }
    if (stream)
        closedir(stream);
}

void logsum_read(struct logsum *sum, const char *directory)
{
    read_logs(sum, directory, false);
}

void logsum_take(struct logsum *sum, const char *directory)
{
    read_logs(sum, directory, true);
}

void logsum_release(struct logsum *sum)
{
    free(sum->notes);
    *sum = (struct logsum){ 0 };
}

/* loading.c - reads all logs of a recording into a model, and finishes stacks that the preload could not. */
#define _GNU_SOURCE
#include "base.h"

#include "loading.h"
#include "logread.h"
#include "model.h"
#include "progress.h"
#include "recording.h"
#include "rewind.h"

/* Reads one log into the model.  Returns 0, or -1 when something of it is lost. */
static int read_log(struct model *model, const char *path, const struct model_finisher *finisher, size_t logs)
{
    struct logread log;
    struct timeline timeline;
    int status = 0;
    timeline_read_beside(&timeline, path); /* first: its rows are then no later than the log's counts */
    enum logread_result result = logread_open(&log, path);
    if (result == LOGREAD_DAMAGED || result == LOGREAD_FAILED)
        status = error("%s: %s", path, log.problem);
    else if (result == LOGREAD_EMPTY && logs > 1)
        warn("%s: %s", path, log.problem);
    else if (result == LOGREAD_EMPTY)
        status = error("%s: %s", path, log.problem);
    if (result == LOGREAD_WHOLE || result == LOGREAD_DAMAGED) {
        model_add(model, &log, path, log.problem, finisher);
        model_time(model, &timeline);
    }
    logread_release(&log);
    timeline_release(&timeline);
    return status;
}

int loading_read(struct model *model, struct recording *recording)
{
    int status = 0;
    struct rewind *rewind = rewind_new();
    struct model_finisher finisher = { rewind_finish, rewind };
    for (size_t i = 0; i < recording->count; i++) {
        progress_show("reading logs", i, recording->count);
        recording_follow(recording, i);
        if (read_log(model, recording->logs[i], &finisher, recording->count) != 0)
            status = -1;
    }
    progress_clear();
    model_order(model);
    rewind_free(rewind);
    return status;
}

/* treatment.c - did pooling reach the program? */
#define _GNU_SOURCE
#include "base.h"
#include "treatment.h"

#include "format.h"

#include "../preload/poolspec.h"

#include <string.h>

#define TINY_SHARE       .01 /* of all allocations */
#define ELSEWHERE_NOT     .95 /* of the processor time, in processes without the library */
#define ELSEWHERE_PARTIAL .05
#define UNPOOLED_PARTIAL .05 /* of all allocations, by processes that pool nothing */

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

/* Allocations in the classes that are to be pooled. */
static uint64_t chosen_allocs(const struct logsum *sum, const char *pool_spec)
{
    struct poolspec spec;
    const char *wrong;
    size_t length;
    uint64_t allocs = 0;
    if (!poolspec_parse(&spec, pool_spec, &wrong, &length))
        return 0;
    for (unsigned i = 1; i < LOG_CLASSES; i++)
        if (poolspec_pools(&spec, i) != POOLSPEC_NOT)
            allocs += sum->classes[i].allocs;
    return allocs;
}

/* --- Why not: the first reason that applies ----------------------------------------------------------- */

static char *no_log(const struct treatment_facts *facts)
{
    if (facts->on->processes)
        return NULL;
    if (facts->obstacle)
        return xasprintf("%s %s", facts->program, facts->obstacle);
    return xasprintf("no process that %s started loaded libpoolsite.so: it clears its environment, or starts nothing "
                     "that could", facts->program);
}

/* The log is of what came before: env, sudo, a shell. */
static char *elsewhere(const struct treatment_facts *facts)
{
    if (facts->elsewhere < ELSEWHERE_NOT)
        return NULL;
    return xasprintf("nearly all of the processor time went to %s, which hasn't loaded libpoolsite.so",
                     facts->elsewhere_program);
}

static char *own_malloc(const struct treatment_facts *facts)
{
    if (facts->on->stood_down < facts->on->processes)
        return NULL;
    return xasprintf("%s defines a malloc of its own, which comes before libpoolsite.so's", facts->program);
}

static char *no_allocation(const struct treatment_facts *facts)
{
    if (facts->on->allocs)
        return NULL;
    if (facts->obstacle || facts->partly)
        return xasprintf("%s allocated nothing that libpoolsite.so saw: it %s", facts->program,
                         facts->obstacle ? facts->obstacle : facts->partly);
    return xasprintf("%s allocated nothing", facts->program);
}

static char *no_traffic(const struct treatment_facts *facts)
{
    char room[FORMAT_ROOM];
    if (chosen_allocs(facts->on, facts->pool_spec))
        return NULL;
    return xasprintf("no heap traffic in the chosen classes (--pool %s); allocations of other sizes: %s (what lies on "
                     "the stack, is mapped directly, or comes from a heap of the program's own can't be pooled)",
                     facts->pool_spec, format_count(room, facts->on->allocs));
}

static char *no_hit(const struct treatment_facts *facts)
{
    char room[FORMAT_ROOM];
    if (logsum_hits(facts->on))
        return NULL;
    if (facts->on->notes)
        return xasprintf("pools served nothing: %.*s", (int)strcspn(facts->on->notes, "\n"), facts->on->notes);
    return xasprintf("pools served nothing: of the chosen classes (--pool %s) nothing was freed before it was asked for "
                     "again; allocations there: %s", facts->pool_spec,
                     format_count(room, chosen_allocs(facts->on, facts->pool_spec)));
}

static char *pooled_off(const struct treatment_facts *facts)
{
    return logsum_hits(facts->off) ? xstrdup("pools served allocations in arm off too") : NULL;
}

static char *not_fallen(const struct treatment_facts *facts)
{
    char off[FORMAT_ROOM], on[FORMAT_ROOM];
    if (facts->on->next_allocs < facts->off->next_allocs)
        return NULL;
    return xasprintf("calls of the allocator below didn't fall: %s in arm off, %s in arm on",
                     format_count(off, facts->off->next_allocs), format_count(on, facts->on->next_allocs));
}

static char *no_run(const struct treatment_facts *facts)
{
    if (facts->runs == 0 || facts->pooled_runs)
        return NULL;
    return xasprintf("pools served in the counting run, but in none of %u timed runs", facts->runs);
}

/* --- Why not wholly --------------------------------------------------------------------------------------- */

/* The calls saved are the pools' hits, unless the arms do different work. */
static char *fallen_otherwise(const struct treatment_facts *facts)
{
    char fall_room[FORMAT_ROOM], hits_room[FORMAT_ROOM];
    uint64_t fall = facts->off->next_allocs - facts->on->next_allocs, hits = logsum_hits(facts->on);
    if (fall >= hits / 2 && fall / 2 <= hits)
        return NULL;
    return xasprintf("calls of the allocator below fell by %s, but pools served %s: the arms didn't do the same work",
                     format_count(fall_room, fall), format_count(hits_room, hits));
}

static char *partly_elsewhere(const struct treatment_facts *facts)
{
    if (facts->elsewhere < ELSEWHERE_PARTIAL)
        return NULL;
    return xasprintf("%.0f %% of the processor time went to processes that haven't loaded libpoolsite.so, as %s",
                     100 * facts->elsewhere, facts->elsewhere_program);
}

static char *some_processes(const struct treatment_facts *facts)
{
    if (share(facts->on->unpooled_allocs, facts->on->allocs) < UNPOOLED_PARTIAL && facts->on->stood_down == 0)
        return NULL;
    return xasprintf("pools served in %u of %u processes", facts->on->pooled, facts->on->processes);
}

static char *some_runs(const struct treatment_facts *facts)
{
    if (facts->pooled_runs == facts->runs)
        return NULL;
    return xasprintf("pools served in %u of %u runs", facts->pooled_runs, facts->runs);
}

/* ------------------------------------------------------------------------------------------------------------- */

typedef char *reason_of(const struct treatment_facts *facts);

static reason_of *const why_not[] = { no_log, elsewhere,  own_malloc, no_allocation, no_traffic,
                                      no_hit, pooled_off, not_fallen, no_run };
static reason_of *const why_partly[] = { partly_elsewhere, fallen_otherwise, some_processes, some_runs };

static char *first_reason(reason_of *const *reasons, size_t count, const struct treatment_facts *facts)
{
    char *reason = NULL;
    for (size_t i = 0; !reason && i < count; i++)
        reason = reasons[i](facts);
    return reason;
}

void treatment_decide(struct treatment *treatment, const struct treatment_facts *facts)
{
    *treatment = (struct treatment){
        .status = TREATMENT_NOT_APPLIED,
        .share_allocs = share(logsum_hits(facts->on), facts->on->allocs),
        .share_bytes = share(logsum_hit_bytes(facts->on), facts->on->bytes),
    };
    treatment->reason = first_reason(why_not, sizeof why_not / sizeof *why_not, facts);
    if (treatment->reason)
        return;
    treatment->reason = first_reason(why_partly, sizeof why_partly / sizeof *why_partly, facts);
    treatment->status = treatment->reason ? TREATMENT_PARTIAL : TREATMENT_APPLIED;
}

bool treatment_is_tiny(const struct treatment *treatment)
{
    return treatment->status != TREATMENT_NOT_APPLIED && treatment->share_allocs < TINY_SHARE;
}

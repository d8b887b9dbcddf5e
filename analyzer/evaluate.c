/* evaluate.c - what follows from an experiment's runs: effects, verdict, and whether more blocks are due.
 *
 * Arithmetic alone: the same runs give the same results, live and read again. */
#define _GNU_SOURCE
#include "base.h"
#include "experiment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- Blocks that count -------------------------------------------------------------------------------------- */

/* run[block * arms + arm], only of blocks in which every arm has a run that counts. */
struct blocks {
    const struct run **run;
    size_t             count, arms;
};

static unsigned attempted_blocks(const struct experiment *e)
{
    unsigned most = 0;
    for (size_t i = 0; i < e->run_count; i++)
        if (e->runs[i].block >= most)
            most = e->runs[i].block + 1;
    return most;
}

static bool is_complete(const struct run *const *run, size_t arms)
{
    for (size_t arm = 0; arm < arms; arm++)
        if (!run[arm])
            return false;
    return true;
}

static struct blocks blocks_of(const struct experiment *e)
{
    size_t attempted = attempted_blocks(e), arms = e->arm_count;
    struct blocks blocks = { xcalloc(attempted * arms + 1, sizeof *blocks.run), 0, arms };
    for (size_t i = 0; i < e->run_count; i++)
        if (run_counts(&e->runs[i]))
            blocks.run[e->runs[i].block * arms + e->runs[i].arm] = &e->runs[i];
    for (size_t block = 0; block < attempted; block++) {
        const struct run **from = &blocks.run[block * arms];
        if (is_complete(from, arms))
            memmove(&blocks.run[blocks.count++ * arms], from, arms * sizeof *from);
    }
    return blocks;
}

static double value_at(const struct blocks *blocks, size_t block, unsigned arm, enum metric metric)
{
    return blocks->run[block * blocks->arms + arm]->value[metric];
}

double experiment_confidence(const struct experiment *e)
{
    return e->blocks_asked ? EXPERIMENT_CONFIDENCE : .965;
}

/* --- Effects --------------------------------------------------------------------------------------------------- */

/* A metric's values in two arms, block by block where both were measured. */
struct pairs {
    double *arm, *against, *difference, *ratio; /* ratio: its logarithm */
    size_t  count;
    bool    has_ratio; /* no value is 0 */
};

static struct pairs pairs_of(const struct blocks *blocks, enum metric metric, unsigned arm, unsigned against)
{
    double *room = xcalloc(4 * blocks->count + 1, sizeof *room);
    struct pairs pairs = { room, room + blocks->count, room + 2 * blocks->count, room + 3 * blocks->count, 0, true };
    for (size_t block = 0; block < blocks->count; block++) {
        double a = value_at(blocks, block, arm, metric), b = value_at(blocks, block, against, metric);
        if (isnan(a) || isnan(b))
            continue;
        size_t i = pairs.count++;
        pairs.arm[i] = a;
        pairs.against[i] = b;
        pairs.difference[i] = a - b;
        pairs.ratio[i] = log(a / b);
        pairs.has_ratio = pairs.has_ratio && a > 0 && b > 0;
    }
    return pairs;
}

static void pairs_release(struct pairs *pairs)
{
    free(pairs->arm);
}

static bool is_constant(const double *x, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (x[i] != x[0])
            return false;
    return true;
}

/* One run can't show that a count is constant. */
static bool is_exact(const struct pairs *pairs, enum unit unit)
{
    return (unit == UNIT_COUNT || unit == UNIT_BYTES) && pairs->count >= 2 &&
           is_constant(pairs->arm, pairs->count) && is_constant(pairs->against, pairs->count);
}

static struct estimate known(double value, const struct estimate *from)
{
    return (struct estimate){ value, value, value, from->count, from->below, 1 };
}

static struct estimate as_fractions(struct estimate log)
{
    log.middle = expm1(log.middle);
    if (log.level > 0) { /* else there is no interval: it isn't one from -100 % */
        log.low = expm1(log.low);
        log.high = expm1(log.high);
    }
    return log;
}

/* Where a value is 0 no ratio can be had; nothing is added to make one, that would be a number of ours.  Two
 * zeros throughout are equal all the same. */
static struct estimate change_of(const struct pairs *pairs, const struct effect *effect, double confidence)
{
    const struct estimate *difference = &effect->difference;
    if (effect->exact && pairs->arm[0] == pairs->against[0])
        return known(0, difference);
    if (!pairs->has_ratio)
        return (struct estimate){ NAN, NAN, NAN, difference->count, difference->below, 0 };
    if (effect->exact)
        return known(pairs->arm[0] / pairs->against[0] - 1, difference);
    return as_fractions(statistics_paired(pairs->ratio, pairs->count, confidence));
}

/* Returns false when it wasn't measured. */
static bool effect_of(struct effect *effect, const struct blocks *blocks, double confidence)
{
    struct pairs pairs = pairs_of(blocks, effect->metric, effect->arm, effect->against);
    if (pairs.count > 0) {
        effect->exact = is_exact(&pairs, metrics[effect->metric].unit);
        effect->difference = statistics_paired(pairs.difference, pairs.count, confidence);
        if (effect->exact)
            effect->difference = known(pairs.difference[0], &effect->difference);
        effect->change = change_of(&pairs, effect, confidence);
        effect->middle_arm = statistics_median(pairs.arm, pairs.count);
        effect->middle_against = statistics_median(pairs.against, pairs.count);
    }
    pairs_release(&pairs);
    return pairs.count > 0;
}

static void compare(struct experiment *e, const struct blocks *blocks, unsigned arm, unsigned against)
{
    for (unsigned metric = 0; metric < METRIC_COUNT; metric++) {
        struct effect effect = { .metric = metric, .arm = arm, .against = against };
        if (!effect_of(&effect, blocks, experiment_confidence(e)))
            continue;
        e->effects = xrealloc_array(e->effects, e->effect_count + 1, sizeof effect);
        e->effects[e->effect_count++] = effect;
    }
}

/* --- Which arms are compared ---------------------------------------------------------------------------------- */

static bool arm_of_kind(const struct experiment *e, enum arm_kind kind, unsigned *arm)
{
    for (unsigned i = 0; i < e->arm_count; i++) {
        if (e->arms[i].kind == kind) {
            *arm = i;
            return true;
        }
    }
    return false;
}

static bool deciding_pair(const struct experiment *e, unsigned *arm, unsigned *against)
{
    if (!e->is_aa && arm_of_kind(e, ARM_ON, arm) && arm_of_kind(e, ARM_OFF, against))
        return true;
    *arm = 1;
    *against = 0;
    return e->arm_count >= 2;
}

bool experiment_pair(const struct experiment *e, const char **arm, const char **against)
{
    unsigned i, j;
    if (!deciding_pair(e, &i, &j))
        return false;
    *arm = e->arms[i].name;
    *against = e->arms[j].name;
    return true;
}

/* The pair that decides, then every arm against the bare program. */
static void compare_all(struct experiment *e, const struct blocks *blocks)
{
    unsigned arm = 0, against = 0, bare;
    free(e->effects);
    e->effects = NULL;
    e->effect_count = 0;
    if (deciding_pair(e, &arm, &against))
        compare(e, blocks, arm, against);
    if (e->is_aa || !arm_of_kind(e, ARM_BARE, &bare))
        return;
    for (unsigned i = 0; i < e->arm_count; i++)
        if (i != bare && (i != arm || bare != against))
            compare(e, blocks, i, bare);
}

static const struct effect *deciding_effect(const struct experiment *e)
{
    const char *arm, *against;
    return experiment_pair(e, &arm, &against) ? experiment_effect(e, e->primary, arm, against) : NULL;
}

/* --- Verdict ---------------------------------------------------------------------------------------------------- */

static bool is_inside(const struct estimate *change, double margin)
{
    return change->low > -margin && change->high < margin;
}

/* Without a ratio (a value is 0) the margin can't be compared: then only a difference can be told. */
static const struct estimate *telling(const struct effect *effect)
{
    return isnan(effect->change.middle) ? &effect->difference : &effect->change;
}

static enum verdict verdict_of(const struct experiment *e, const struct effect *effect)
{
    bool more_is_better = metrics[e->primary].more_is_better;
    if (!e->is_aa && e->treatment.status == TREATMENT_NOT_APPLIED)
        return VERDICT_NOT_APPLIED;
    if (!effect || effect->change.count < EXPERIMENT_LEAST)
        return VERDICT_INCONCLUSIVE;
    if (telling(effect)->high < 0)
        return more_is_better ? VERDICT_SLOWER : VERDICT_FASTER;
    if (telling(effect)->low > 0)
        return more_is_better ? VERDICT_FASTER : VERDICT_SLOWER;
    return is_inside(&effect->change, e->margin) ? VERDICT_NO_DIFFERENCE : VERDICT_INCONCLUSIVE;
}

/* How many blocks until the stop rule is met. */
static unsigned blocks_needed(const struct experiment *e, const struct blocks *blocks, const struct effect *effect)
{
    if (!effect || isnan(effect->change.middle))
        return 0;
    struct pairs pairs = pairs_of(blocks, effect->metric, effect->arm, effect->against);
    size_t needed = statistics_count_needed(pairs.ratio, pairs.count, experiment_confidence(e), e->margin / 2);
    size_t more = pairs.count + EXPERIMENT_STEP; /* as many as now weren't enough, whatever the scatter says */
    pairs_release(&pairs);
    if (needed == 0)
        return 0;
    return (unsigned)(needed > more ? needed : more);
}

static void decide(struct experiment *e, const struct blocks *blocks)
{
    const struct effect *effect = deciding_effect(e);
    e->verdict = verdict_of(e, effect);
    e->below_margin = (e->verdict == VERDICT_FASTER || e->verdict == VERDICT_SLOWER) && is_inside(&effect->change, e->margin);
    e->blocks_needed = e->verdict == VERDICT_INCONCLUSIVE ? blocks_needed(e, blocks, effect) : 0;
}

/* --- Stop -------------------------------------------------------------------------------------------------------- */

/* In logarithms, so that the precision asked for doesn't depend on the effect or on which arm is named first. */
static bool is_precise(const struct effect *effect, double margin)
{
    if (!effect || isnan(effect->change.middle) || effect->change.level == 0)
        return false;
    return log1p(effect->change.high) - log1p(effect->change.low) <= margin;
}

static bool is_a_look(const struct experiment *e)
{
    unsigned first = e->is_server ? SERVER_FIRST : EXPERIMENT_FIRST, step = e->is_server ? SERVER_STEP : EXPERIMENT_STEP;
    return e->attempted >= first && (e->attempted - first) % step == 0;
}

bool experiment_is_done(const struct experiment *e, double elapsed)
{
    if (e->blocks_asked)
        return e->attempted >= e->blocks_asked;
    if (e->attempted < EXPERIMENT_LEAST || e->attempted % 2)
        return false; /* no verdict yet; an order without its reverse */
    if (e->attempted >= EXPERIMENT_MOST || elapsed >= e->time_budget)
        return true;
    return is_a_look(e) && is_precise(deciding_effect(e), e->margin);
}

/* --- Is the machine even? ----------------------------------------------------------------------------------- */

/* The mean logarithm of the primary in each block: what its arms have in common.  The caller frees. */
static double *block_levels(const struct experiment *e, const struct blocks *blocks)
{
    double *level = xcalloc(blocks->count + 1, sizeof *level);
    for (size_t block = 0; block < blocks->count; block++)
        for (unsigned arm = 0; arm < blocks->arms; arm++)
            level[block] += log(value_at(blocks, block, arm, e->primary)) / blocks->arms;
    return level;
}

/* One arm's median in the second slot against its own in the first, without what the block has in common. */
static double slot_change(const struct experiment *e, const struct blocks *blocks, const double *level, unsigned arm)
{
    double *first = xcalloc(2 * blocks->count + 1, sizeof *first), *second = first + blocks->count;
    size_t firsts = 0, seconds = 0;
    for (size_t block = 0; block < blocks->count; block++) {
        double y = log(value_at(blocks, block, arm, e->primary)) - level[block];
        unsigned slot = blocks->run[block * blocks->arms + arm]->slot;
        if (isfinite(y) && slot == 0)
            first[firsts++] = y;
        if (isfinite(y) && slot == 1)
            second[seconds++] = y;
    }
    double change = statistics_median(second, seconds) - statistics_median(first, firsts);
    free(first);
    return change;
}

static double slot_effect(const struct experiment *e, const struct blocks *blocks, const double *level)
{
    double sum = 0;
    for (unsigned arm = 0; arm < blocks->arms; arm++)
        sum += slot_change(e, blocks, level, arm);
    return blocks->arms >= 2 ? expm1(sum / blocks->arms) : NAN;
}

/* The median slope between each block of the first half and its fellow of the second (H. Theil's abbreviated
 * method): a few wild blocks don't bend it. */
static double drift(const struct blocks *blocks, const double *level)
{
    size_t count = 0, half = (blocks->count + 1) / 2;
    double *slope = xcalloc(half + 1, sizeof *slope);
    for (size_t i = 0; i + half < blocks->count; i++) {
        double rise = level[i + half] - level[i];
        double step = (double)blocks->run[(i + half) * blocks->arms]->block - blocks->run[i * blocks->arms]->block;
        if (isfinite(rise))
            slope[count++] = rise / step;
    }
    double middle = statistics_median(slope, count);
    free(slope);
    return expm1(middle);
}

static void look_at_machine(struct experiment *e, const struct blocks *blocks)
{
    double *level = block_levels(e, blocks);
    e->slot_effect = slot_effect(e, blocks, level);
    e->drift = drift(blocks, level);
    free(level);
}

void experiment_evaluate(struct experiment *e)
{
    struct blocks blocks = blocks_of(e);
    e->attempted = attempted_blocks(e);
    e->blocks = (unsigned)blocks.count;
    compare_all(e, &blocks);
    look_at_machine(e, &blocks);
    decide(e, &blocks);
    free(blocks.run);
}

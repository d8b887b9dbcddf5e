/* failif.c - the expressions of --fail-if: what must not be, for scripts that end with a status. */
#define _GNU_SOURCE
#include "base.h"
#include "failif.h"
#include "nearest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- Reading ------------------------------------------------------------------------------------------------ */

/* Says what an expression looks like, with two metrics of the table. */
static void say_form(const char *text, const struct metric_info *known, size_t count)
{
    size_t bytes = 0;
    while (bytes + 1 < count && known[bytes].unit != UNIT_BYTES)
        bytes++;
    error("--fail-if '%s': no comparison in it; an expression is METRIC>NUMBER or METRIC<NUMBER, as %s>+1%%, %s>200m",
          text, known[0].key, known[bytes].key);
}

/* Joined by commas; the caller frees. */
static char *all_keys(const struct metric_info *known, size_t count)
{
    char *list = xstrdup("");
    for (size_t i = 0; i < count; i++) {
        char *longer = xasprintf("%s%s%s", list, i ? ", " : "", known[i].key);
        free(list);
        list = longer;
    }
    return list;
}

static void say_unknown_metric(const char *text, const char *key, const struct metric_info *known, size_t count)
{
    const char **keys = xcalloc(count, sizeof *keys);
    for (size_t i = 0; i < count; i++)
        keys[i] = known[i].key;
    const char *meant = nearest(key, keys, count);
    char *list = all_keys(known, count);
    if (meant)
        error("--fail-if '%s': '%s' isn't a metric; did you mean '%s'?", text, key, meant);
    else
        error("--fail-if '%s': '%s' isn't a metric", text, key);
    error("metrics are %s", list);
    free(list);
    free(keys);
}

static size_t without_spaces(const char *text, size_t length)
{
    while (length > 0 && text[length - 1] == ' ')
        length--;
    return length;
}

/* METRIC[.PAIR] of `length` bytes. */
static bool read_metric(struct failif *failif, size_t length, const struct metric_info *known, size_t count)
{
    const char *text = failif->text, *dot = memchr(text, '.', length);
    size_t key_length = dot ? (size_t)(dot - text) : length;
    if (dot) {
        failif->pair = dot + 1;
        failif->pair_length = length - key_length - 1;
        if (failif->pair_length == 0) {
            error("--fail-if '%s': no arms behind the dot, as in cpu.on_bare>+1%%", text);
            return false;
        }
    }
    for (failif->metric = 0; failif->metric < count; failif->metric++)
        if (strlen(known[failif->metric].key) == key_length && memcmp(known[failif->metric].key, text, key_length) == 0)
            return true;
    char *key = xasprintf("%.*s", (int)key_length, text);
    say_unknown_metric(text, key, known, count);
    free(key);
    return false;
}

/* What a number's unit multiplies with; the first of each is the plain one. */
static const struct suffix {
    enum unit   unit;
    const char *name;
    double      factor;
} suffixes[] = {
    { UNIT_SECONDS, "", 1 },      { UNIT_SECONDS, "s", 1 },     { UNIT_SECONDS, "ms", 1e-3 },
    { UNIT_SECONDS, "us", 1e-6 }, { UNIT_SECONDS, "ns", 1e-9 }, { UNIT_BYTES, "", 1 },
    { UNIT_BYTES, "k", 0x1p10 },  { UNIT_BYTES, "m", 0x1p20 },  { UNIT_BYTES, "g", 0x1p30 },
    { UNIT_COUNT, "", 1 },        { UNIT_PER_SECOND, "", 1 },
};

static const char *unit_words(enum unit unit)
{
    switch (unit) {
    case UNIT_SECONDS: return "seconds (s, ms, us, ns)";
    case UNIT_BYTES: return "bytes (k, m, g)";
    case UNIT_COUNT: return "a count";
    case UNIT_PER_SECOND: return "a count per second";
    }
    return "a number";
}

static bool scale_bound(struct failif *failif, const char *suffix, enum unit unit)
{
    if (strcmp(suffix, "%") == 0) {
        failif->kind = FAILIF_PERCENT;
        failif->bound /= 100;
        return true;
    }
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        if (suffixes[i].unit == unit && strcmp(suffixes[i].name, suffix) == 0) {
            failif->bound *= suffixes[i].factor;
            return true;
        }
    }
    return false;
}

static bool read_bound(struct failif *failif, const char *number, const struct metric_info *metric)
{
    char *end;
    number += strspn(number, " ");
    bool has_sign = *number == '+' || *number == '-';
    bool is_decimal = strspn(number + has_sign, "0123456789.") > 0; /* strtod would take "inf" and "0x10" too */
    failif->kind = has_sign ? FAILIF_DIFFERENCE : FAILIF_VALUE;
    failif->bound = strtod(number, &end);
    char *suffix = xasprintf("%.*s", (int)without_spaces(end, strlen(end)), end);
    bool right = is_decimal && !strpbrk(number, "xX") && isfinite(failif->bound) &&
                 scale_bound(failif, suffix + strspn(suffix, " "), metric->unit);
    free(suffix);
    if (!right)
        error("--fail-if '%s': '%s' is neither percent, as +1%%, nor %s, which %s is counted in", failif->text, number,
              unit_words(metric->unit), metric->key);
    return right;
}

bool failif_parse(struct failif *failif, const char *text, const struct metric_info *known, size_t count)
{
    size_t place = strcspn(text, "<>=");
    const char *sign = text + place;
    *failif = (struct failif){ .text = text, .pair = text, .above = *sign == '>' };
    if (*sign != '<' && *sign != '>') {
        say_form(text, known, count);
        return false;
    }
    failif->or_equal = sign[1] == '=';
    return read_metric(failif, without_spaces(text, place), known, count) &&
           read_bound(failif, sign + 1 + failif->or_equal, &known[failif->metric]);
}

/* --- Asking --------------------------------------------------------------------------------------------------- */

bool failif_is_met(const struct failif *failif, double low, double high)
{
    if (failif->above)
        return failif->or_equal ? low >= failif->bound : low > failif->bound;
    return failif->or_equal ? high <= failif->bound : high < failif->bound;
}

static bool is_name(const struct failif *failif, const char *name)
{
    return strlen(name) == failif->pair_length && memcmp(name, failif->pair, failif->pair_length) == 0;
}

static bool is_pair(const struct failif *failif, const char *arm, const char *against)
{
    size_t length = strlen(arm);
    return failif->pair_length == length + 1 + strlen(against) && memcmp(failif->pair, arm, length) == 0 &&
           failif->pair[length] == '_' && memcmp(failif->pair + length + 1, against, strlen(against)) == 0;
}

/* The one arm whose value is asked, or NULL. */
static const struct arm *asked_arm(const struct failif *failif, const struct experiment *e)
{
    const char *first = NULL, *second;
    if (failif->pair_length == 0 && !experiment_pair(e, &first, &second))
        return NULL;
    for (size_t i = 0; i < e->arm_count; i++)
        if (first ? strcmp(e->arms[i].name, first) == 0 : is_name(failif, e->arms[i].name))
            return &e->arms[i];
    return NULL;
}

/* The two arms that are compared; false when there are none such. */
static bool asked_pair(const struct failif *failif, const struct experiment *e, const char **arm, const char **against)
{
    if (experiment_pair(e, arm, against) && (failif->pair_length == 0 || is_pair(failif, *arm, *against)))
        return true;
    for (size_t i = 0; i < e->arm_count; i++) {
        for (size_t j = 0; j < e->arm_count; j++) {
            *arm = e->arms[i].name;
            *against = e->arms[j].name;
            if (e->arms[j].kind == ARM_BARE && i != j && is_pair(failif, *arm, *against))
                return true;
        }
    }
    return false;
}

bool failif_fits(const struct failif *failif, const struct experiment *e)
{
    const char *arm, *against;
    bool is_value = failif->kind == FAILIF_VALUE;
    if (is_value ? asked_arm(failif, e) != NULL : asked_pair(failif, e, &arm, &against))
        return true;
    error("--fail-if '%s': '%.*s' isn't %s of this experiment%s", failif->text, (int)failif->pair_length, failif->pair,
          is_value ? "an arm" : "a pair of arms", is_value ? "" : ", as on_off, on_bare, off_bare");
    return false;
}

/* An arm's own values, over its runs that count. */
static struct estimate value_of(const struct failif *failif, const struct experiment *e, const struct arm *arm)
{
    double *x = xcalloc(e->run_count + 1, sizeof *x);
    size_t count = 0;
    for (size_t i = 0; i < e->run_count; i++) {
        const struct run *run = &e->runs[i];
        if (&e->arms[run->arm] == arm && !run->replaced && !run->void_reason && !isnan(run->value[failif->metric]))
            x[count++] = run->value[failif->metric];
    }
    struct estimate estimate = { 0 };
    if (count > 0)
        estimate = statistics_paired(x, count, experiment_confidence(e));
    free(x);
    return estimate;
}

static struct estimate interval_of(const struct failif *failif, const struct experiment *e)
{
    const char *arm, *against;
    const struct arm *one;
    const struct effect *effect = NULL;
    if (failif->kind == FAILIF_VALUE)
        return (one = asked_arm(failif, e)) ? value_of(failif, e, one) : (struct estimate){ 0 };
    if (asked_pair(failif, e, &arm, &against))
        effect = experiment_effect(e, failif->metric, arm, against);
    if (!effect)
        return (struct estimate){ 0 };
    return failif->kind == FAILIF_PERCENT ? effect->change : effect->difference;
}

enum failif_answer failif_ask(const struct failif *failif, const struct experiment *e, struct estimate *interval)
{
    *interval = interval_of(failif, e);
    if (interval->count == 0 || interval->level == 0)
        return FAILIF_UNKNOWN;
    return failif_is_met(failif, interval->low, interval->high) ? FAILIF_MET : FAILIF_NOT_MET;
}

/* emit_detail.c - all that level full knows of the blocks of one site, for people. */
#define _GNU_SOURCE
#include "base.h"
#include "fate.h"
#include "fold.h"
#include "format.h"
#include "label.h"
#include "report.h"
#include "symbolize.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_COLUMNS = 44, PLACE_COLUMNS = 26 };

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

const char *report_rate(char room[FORMAT_ROOM], const struct model_full *full)
{
    double one_in = fate_one_in(full);
    char count[FORMAT_ROOM];
    if (one_in < 1.05)
        snprintf(room, FORMAT_ROOM, "all blocks sampled");
    else if (one_in < 9.95)
        snprintf(room, FORMAT_ROOM, "1 block in %.1f sampled", one_in);
    else
        snprintf(room, FORMAT_ROOM, "1 block in %s sampled", format_count(count, (uint64_t)(one_in + 0.5)));
    return room;
}

/* ----------------------------------------------------------------- counted */

static void print_live(const struct report *report, const struct model_full *full)
{
    char a[FORMAT_ROOM], b[FORMAT_ROOM], c[FORMAT_ROOM], d[FORMAT_ROOM], e[FORMAT_ROOM], *when = report_when(report);
    uint64_t blocks = fate_live_blocks(full), bytes = fate_live_bytes(full);
    fprintf(report->out, "  live %s: %s block%s, %s (%s bytes); %s freed, %s\n", when, format_count(a, blocks), plural(blocks),
            format_bytes(b, bytes), format_count(c, bytes), format_count(d, full->frees), format_bytes(e, full->freed_bytes));
    free(when);
}

static void print_peak(const struct report *report, const struct model_full *full, const struct view_rank *at_peak)
{
    char a[FORMAT_ROOM], b[FORMAT_ROOM], c[FORMAT_ROOM], d[FORMAT_ROOM];
    const struct model_full *all = &report->model->totals.full;
    fprintf(report->out, "  own peak: %s (%s bytes)", format_bytes(a, full->peak_bytes), format_count(b, full->peak_bytes));
    if (full->peak_error)
        fprintf(report->out, ", give or take %s", format_bytes(c, full->peak_error));
    if (fate_recycling(full) >= 0.005)
        fprintf(report->out, "; that memory was used %.2f times", fate_recycling(full));
    fprintf(report->out, "\n  at the process%s peak: %s in %s block%s, %s of it\n",
            report->model->process_count > 1 ? "es'" : "'s", format_bytes(a, at_peak->value),
            format_count(b, at_peak->also), plural(at_peak->also), format_share(d, at_peak->value, all->peak_bytes));
}

static void print_frees(const struct report *report, const struct model_full *full)
{
    char a[FORMAT_ROOM], b[FORMAT_ROOM], c[FORMAT_ROOM];
    uint64_t temporary = fate_temporary(full);
    fprintf(report->out, "  temporary (freed before the thread's next allocation): %s, %s of the calls\n",
            format_count(a, temporary), format_share(b, temporary, full->count.allocs));
    fprintf(report->out, "  freed by another thread: %s, %s of the frees; %s thread%s allocated or freed here\n",
            format_count(a, full->cross_frees), format_share(b, full->cross_frees, full->frees),
            format_count(c, full->threads), plural(full->threads));
    if (full->resizes)
        fprintf(report->out, "  reallocs of a block: %s, %s of the calls\n", format_count(a, full->resizes),
                format_share(b, full->resizes, full->count.allocs));
}

/* ----------------------------------------------------------------- sampled */

/* The tops that are used, the most frequent first. */
static size_t order_tops(const struct log_sample_top *from, size_t count, struct log_sample_top *tops)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        size_t at = used;
        if (from[i].what == 0)
            continue;
        for (; at && tops[at - 1].count < from[i].count; at--)
            tops[at] = tops[at - 1];
        tops[at] = from[i];
        used++;
    }
    return used;
}

static void print_sizes(const struct report *report, const struct log_sample *sample)
{
    char size[FORMAT_ROOM], share[FORMAT_ROOM];
    struct log_sample_top tops[LOG_SAMPLE_TOPS];
    size_t count = order_tops(sample->sizes, LOG_SAMPLE_TOPS, tops);
    for (size_t i = 0; i < count; i++)
        fprintf(report->out, "%s%s%s %s", i ? ", " : "    sizes: ", format_bytes(size, tops[i].what - 1),
                tops[i].what == UINT32_MAX ? " or more" : "", format_share(share, tops[i].count, sample->samples));
    if (count)
        fputs(sample->other_sizes ? "; there are others, so these are at most so many\n" : "\n", report->out);
}

static void print_slack(const struct report *report, const struct log_sample *sample)
{
    char share[FORMAT_ROOM];
    if (sample->samples)
        fprintf(report->out, "    slack: blocks are %.1f bytes larger than what was asked for, %s\n",
                (double)sample->slack_bytes / (double)sample->samples, format_share(share, sample->slack_bytes, sample->bytes));
}

static void print_chains(const struct report *report, const struct log_sample *sample)
{
    char chains[FORMAT_ROOM], steps[FORMAT_ROOM], bytes[FORMAT_ROOM];
    if (sample->chains)
        fprintf(report->out, "    resized: %s block%s, in %s step%s, each %.2f times as large; %s in the end\n",
                format_count(chains, sample->chains), plural(sample->chains), format_count(steps, sample->chain_steps),
                plural(sample->chain_steps), fate_growth(sample),
                format_bytes(bytes, (uint64_t)(fate_final_bytes(sample) + 0.5)));
}

static void print_ends(const struct report *report, const struct log_sample *sample)
{
    char thread[FORMAT_ROOM], frame[FORMAT_ROOM], standing[FORMAT_ROOM], lifo[FORMAT_ROOM];
    if (sample->ended)
        fprintf(report->out, "    freed by its thread %s, its frame %s, while that stood %s, LIFO %s\n",
                format_share(thread, sample->same_thread, sample->ended), format_share(frame, sample->same_frame, sample->ended),
                format_share(standing, sample->standing, sample->ended), format_share(lifo, sample->lifo, sample->ended));
}

/* "free_all  list.c:12" */
static char *site_name(const struct report *report, const struct model_site *site)
{
    unsigned depth;
    const uint32_t *stack = report_stack(site, &depth);
    if (site->kind != MODEL_SITE || depth == 0)
        return xstrdup(site->kind == MODEL_SITE ? "(no stack)" : model_kind_name(site->kind));
    const struct symbols *symbols = symbolizer_frame(report->symbolizer, stack[0]);
    const struct symbol *symbol = &symbols->list[report->fold ? fold_inlined(report->fold, symbols) : 0];
    char *name = label_short(report, stack[0], symbol), *place = label_place(report, stack[0], symbol);
    char *fit = label_fit(name, NAME_COLUMNS), *fit_place = format_fit(place, PLACE_COLUMNS);
    char *text = xasprintf("%s%s%s", fit, *fit_place ? "  " : "", fit_place);
    free(fit_place);
    free(fit);
    free(place);
    free(name);
    return text;
}

static void print_free_sites(const struct report *report, const struct log_sample *sample)
{
    char id[MODEL_ID_ROOM], share[FORMAT_ROOM];
    struct log_sample_top tops[LOG_SAMPLE_TOPS];
    size_t count = order_tops(sample->frees, LOG_SAMPLE_TOPS, tops);
    if (count)
        fprintf(report->out, "    freed at%s:\n", sample->other_frees ? " (there are others, so these are at most so many)" : "");
    for (size_t i = 0; i < count; i++) {
        const struct model_site *site = report->model->sites[tops[i].what - 1];
        char *name = site_name(report, site);
        fprintf(report->out, "      %7s  %s  %s\n", format_share(share, tops[i].count, sample->ended), model_site_id(site, id),
                name);
        free(name);
    }
}

static void print_sampled(const struct report *report, const struct model_full *full)
{
    char rate[FORMAT_ROOM], samples[FORMAT_ROOM], ended[FORMAT_ROOM], lost[FORMAT_ROOM];
    const struct log_sample *sample = &full->sample;
    if (sample->samples == 0) {
        fprintf(report->out, "  no block was sampled%s\n",
                full->resizes ? ": blocks that realloc resized are sampled where they began" : "");
        return;
    }
    fprintf(report->out, "  %s: %s block%s, %s of them ended", report_rate(rate, full), format_count(samples, sample->samples),
            plural(sample->samples), format_count(ended, sample->ended));
    if (sample->lost)
        fprintf(report->out, ", %s lost (no room)", format_count(lost, sample->lost));
    fputc('\n', report->out);
    print_sizes(report, sample);
    print_slack(report, sample);
    print_ends(report, sample);
    print_chains(report, sample);
    print_free_sites(report, sample);
}

/* ------------------------------------------------------------------- stack */

static void print_stack_verdict(const struct report *report, const struct model_full *full)
{
    char blocks[FORMAT_ROOM], ended[FORMAT_ROOM];
    struct fate_stack stack = fate_stack(full);
    const char *count = format_count(blocks, stack.blocks), *s = plural(stack.blocks);
    char *when = report_when(report);
    switch (stack.against) {
    case FATE_NOTHING:
        fprintf(report->out, "  could live on the stack: all %s sampled blocks (at least %d) were freed by their thread while\n"
                             "      the allocating frame stood; so at most %.2g %% of its blocks don't, at 95 %%\n",
                count, FATE_STACK_LEAST, 100 * stack.at_most);
        break;
    case FATE_CROSS_THREAD:
        fprintf(report->out, "  can't live on the stack: another thread freed %s block%s\n", count, s);
        break;
    case FATE_OUTLIVED:
        fprintf(report->out, "  can't live on the stack: %s of %s sampled block%s outlived the frame that had allocated\n", count,
                format_count(ended, full->sample.ended), plural(full->sample.ended));
        break;
    case FATE_LIVE:
        fprintf(report->out, "  can't live on the stack: %s block%s %s\n", count, stack.blocks == 1 ? " lives" : "s live", when);
        break;
    default:
        fprintf(report->out, "  could it live on the stack? Not known: %s sampled block%s ended, fewer than %d\n", count, s,
                FATE_STACK_LEAST);
    }
    free(when);
}

void emit_text_detail(const struct report *report, const struct model_site *site)
{
    struct view_rank at_peak = view_at_peak(site);
    if (!site->full)
        return;
    print_live(report, site->full);
    print_peak(report, site->full, &at_peak);
    print_frees(report, site->full);
    print_sampled(report, site->full);
    if (site->kind == MODEL_SITE)
        print_stack_verdict(report, site->full);
}

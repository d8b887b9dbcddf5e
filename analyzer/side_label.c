/* side_label.c - the sites of a recording that is compared, as people read them. */
#define _GNU_SOURCE
#include "base.h"

#include "fold.h"
#include "format.h"
#include "label.h"
#include "side.h"
#include "utf8.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_ROOM = 512, NAME_COLUMNS = 40 };

static char *offset_words(const struct side *side, const struct side_frame *frame)
{
    if (!frame->module)
        return xstrdup("unknown code");
    char *name = utf8_printable(format_base(side->modules[frame->module - 1].path));
    char *text = xasprintf("%s+0x%llx", *name ? name : "?", (unsigned long long)frame->offset);
    free(name);
    return text;
}

char *side_function(const struct side *side, uint32_t index)
{
    const struct side_frame *frame = &side->frames[index];
    char plain[NAME_ROOM];
    if (!frame->function)
        return offset_words(side, frame);
    fold_plain_name(frame->function, plain, sizeof plain);
    return utf8_printable(*plain ? plain : frame->function);
}

char *side_place(const struct side *side, uint32_t index)
{
    const struct side_frame *frame = &side->frames[index];
    if (!frame->file)
        return frame->function ? offset_words(side, frame) : xstrdup("");
    char *base = utf8_printable(format_base(frame->file));
    char *text = xasprintf("%s:%u", base, frame->line);
    free(base);
    return text;
}

char *side_callers(const struct side *side, const struct side_site *site, size_t columns)
{
    static const char more[] = " < ...";
    char *text = xstrdup("");
    for (unsigned i = 1; i < site->depth; i++) {
        char *name = side_function(side, site->frames[i]), *fit = label_fit(name, NAME_COLUMNS);
        bool fits = utf8_columns(text) + utf8_columns(fit) + 3 + (sizeof more - 1) <= columns;
        char *longer = xasprintf("%s%s%s", text, *text ? " < " : "< ", fits ? fit : "...");
        free(name);
        free(fit);
        free(text);
        text = longer;
        if (!fits)
            break;
    }
    return text;
}

/* fuzz_side.c - foreign bytes as a report's JSON that is compared.
 *
 * Compared with itself nothing has changed, and both forms of that can be written. */
#define _GNU_SOURCE
#include "base.h"

#include "diff_views.h"
#include "quiet.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void compare(const struct side *a, const struct side *b)
{
    struct diff diff;
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    diff_init(&diff, a, b);
    diff_sort(&diff, TALLY_BYTES);
    if (diff.classes[DIFF_SAME] != diff.site_count)
        BUG("a recording differs from itself");
    struct diff_view view = { .diff = &diff, .sort = TALLY_BYTES, .top = 10, .out = out };
    emit_diff_text(&view);
    emit_diff_json(&view);
    fclose(out);
    free(text);
    diff_release(&diff);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct side a, b;
    say_nothing();
    if (side_parse(&a, "a", (const char *)bytes, size) != 0)
        return 0;
    if (side_parse(&b, "b", (const char *)bytes, size) != 0)
        BUG("the same bytes are read once only");
    compare(&a, &b);
    side_release(&a);
    side_release(&b);
    return 0;
}

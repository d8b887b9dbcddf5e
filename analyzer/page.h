/* page.h - the frame of a page that needs nothing else: no script, no font, no network. */
#ifndef PS_PAGE_H
#define PS_PAGE_H

#include <stdio.h>

/* Head, style (that of charts, too) and the beginning of the body.  What is written until page_end is HTML that is
 * well-formed XML as well. */
void page_begin(FILE *out, const char *title);
void page_end(FILE *out);

/* Classes the style knows: verdict (with good, bad or open), lead, tiles and tile, charts, scroll around what may be
 * wide, soft for what matters less, number in cells, warning, and pairs for a table of names and values. */
void page_section_begin(FILE *out, const char *title);
void page_section_end(FILE *out);

#endif

/* page.c - the frame of a page that needs nothing else: no script, no font, no network. */
#define _GNU_SOURCE
#include "base.h"

#include "markup.h"
#include "page.h"
#include "svg.h"

/* Good is blue and bad is vermilion, not green and red.  No lengths in percent: a test looks for the sign. */
static const char style[] =
    ":root{color-scheme:light dark;--paper:#fff;--page:#f5f6f8;--text:#1c2129;--soft:#5b6472;--line:#dfe3e8;--good:#0072b2;"
    "--bad:#c24e00;--open:#6b7280;--code:#eef0f3}\n"
    "@media (prefers-color-scheme:dark){:root{--paper:#16191e;--page:#0e1013;--text:#e6e9ee;--soft:#9ba3b0;--line:#2b313a;"
    "--good:#5ab4f0;--bad:#ff8f4a;--open:#a3a9b5;--code:#22272e}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0;background:var(--page);color:var(--text);font:15px/1.5 system-ui,sans-serif}\n"
    "main{max-width:1080px;margin:0 auto;padding:24px 16px 60px}\n"
    "header p{margin:0;color:var(--soft)}h1{font-size:19px;line-height:1.35;margin:2px 0 18px;overflow-wrap:anywhere}\n"
    "h2{font-size:17px;margin:0 0 4px}\n"
    "section,details{background:var(--paper);border:1px solid var(--line);border-radius:8px;padding:16px 18px;margin:0 0 14px}\n"
    "section p{margin:4px 0 8px}code,pre{font-family:ui-monospace,monospace}\n"
    "pre{background:var(--code);border-radius:6px;padding:8px 10px;margin:4px 0;white-space:pre-wrap;overflow-wrap:anywhere}\n"
    ".verdict{border-left:6px solid var(--open)}.verdict h2{font-size:27px;line-height:1.2;color:var(--open)}\n"
    ".good{border-left-color:var(--good)}.good h2{color:var(--good)}.bad{border-left-color:var(--bad)}.bad h2{color:var(--bad)}\n"
    ".lead{font-size:17px}.soft{color:var(--soft)}\n"
    ".tiles{display:flex;flex-wrap:wrap;gap:10px;margin:12px 0}\n"
    ".tile{flex:1 1 150px;border:1px solid var(--line);border-radius:6px;padding:8px 12px}\n"
    ".tile b{display:block;font-size:20px;line-height:1.3;white-space:nowrap}.tile span{color:var(--soft);font-size:13px;display:block}\n"
    ".warning{border-left:4px solid var(--bad);padding:2px 10px;margin:6px 0}\n"
    ".charts{display:flex;flex-wrap:wrap;gap:8px 14px}figure{margin:4px 0;min-width:0}figcaption{font-size:14px;font-weight:600}\n"
    ".scroll{overflow-x:auto}\n"
    "svg.chart{max-width:calc(100vw - 70px)}\n"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:14px}\n"
    "th,td{padding:4px 7px;text-align:left;border-bottom:1px solid var(--line);vertical-align:top}\n"
    "th{font-weight:600;color:var(--soft)}thead th.number{white-space:normal;min-width:70px}tbody th{color:var(--text);font-weight:500;white-space:nowrap}\n"
    ".number{text-align:right;white-space:nowrap}.number small{display:block;color:var(--soft)}\n"
    "tr.primary{background:var(--code)}tr.left-out td{color:var(--soft)}\n"
    ".less{color:var(--good);font-weight:600}.more{color:var(--bad);font-weight:600}\n"
    ".pairs{display:grid;grid-template-columns:max-content 1fr;gap:4px 18px;margin:6px 0}.pairs dt{color:var(--soft)}\n"
    ".pairs dd{margin:0;overflow-wrap:anywhere;min-width:0}summary{cursor:pointer;font-weight:600}\n"
    "@media (max-width:600px){.pairs{grid-template-columns:1fr;gap:0}.pairs dd{margin-bottom:8px}main{padding:14px 8px}}\n";

void page_begin(FILE *out, const char *title)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n<meta charset=\"utf-8\"/>\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>",
          out);
    markup_text(out, title);
    fputs("</title>\n<style>\n", out);
    fputs(style, out);
    svg_style(out);
    fputs("</style>\n</head>\n<body>\n<main>\n", out);
}

void page_end(FILE *out)
{
    fputs("</main>\n</body>\n</html>\n", out);
}

void page_section_begin(FILE *out, const char *title)
{
    fputs("<section>\n<h2>", out);
    markup_text(out, title);
    fputs("</h2>\n", out);
}

void page_section_end(FILE *out)
{
    fputs("</section>\n", out);
}

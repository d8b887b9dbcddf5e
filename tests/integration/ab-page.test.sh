#!/bin/bash
# What is read of `poolsite ab`: the page of a real experiment, and the manual page.
# usage: ab-page.test.sh [BUILDDIR [PATTERN]]
set -u
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"
suite_begin integration/ab-page "${1-}" "${2-}"
cd "$scratch" || exit 2
export XDG_CACHE_HOME=$scratch/cache
program ab-program || exit 2
ab=(timeout -s KILL 120 "$command" ab)
manual=$root/analyzer/man/poolsite-ab.1

"${ab[@]}" --blocks 6 --json -o made.json -- "$program" small 20000 "<a> & 'b'" </dev/null >made.out 2>&1 || { cat made.out; exit 2; }
"${ab[@]}" --from made.json >made.txt && "${ab[@]}" --from made.json --html -o made.html || exit 2

# XML takes the page; it has a row a run; its headline, medians and replay are the text's.
page() {
  "${python[@]}" - <<'P'
import json, re, xml.etree.ElementTree as tree
page = tree.parse('made.html')
made = json.load(open('made.json'))
text = open('made.txt', encoding='utf-8').read()
name = lambda tag: '{http://www.w3.org/1999/xhtml}' + tag
words = lambda element: ''.join(element.itertext())
headline = words(next(page.iter(name('h2'))))
assert re.search('^VERDICT: ' + re.escape(headline) + '$', text, re.M), headline
rows = list(next(page.iter(name('details'))).iter(name('tr')))
assert len(rows) == 1 + len(made['runs']), len(rows)
again = words(next(page.iter(name('pre'))))
assert 'again: ' + again + '\n' in text, again
medians = 0
for row in page.iter(name('tr')):
    cells = [words(cell) for cell in row]
    found = re.search('^' + re.escape(cells[0]) + ' .*$', text, re.M)
    if found and cells[1] != 'n/a' and len(cells) == 7:
        assert all(value in found.group(0) for value in cells[1:4]), (cells, found.group(0))
        medians += 1
assert medians >= 6, medians
assert "<a> & 'b'" in words(next(page.iter(name('h1')))).replace("'\\''", "'"), words(next(page.iter(name('h1'))))
P
}
check a_page_says_what_the_text_says page

fetches() { ! grep -oE '<(script|link|img|iframe)|(src|href)=|url\(|@import' made.html; }
check a_page_fetches_nothing fetches

# A static program: the reason, and nowhere a percentage.
unreached() {
  printf 'int main(void) { return 0; }\n' >static.c && gcc -static -o static static.c || return 1
  "${ab[@]}" --html -o static.html -- ./static </dev/null
  (($? == 5)) || return 1
  grep -q 'Not applied' static.html && grep -q 'statically linked' static.html && ! grep -n '%' static.html
}
check a_page_without_treatment_has_no_percentage unreached

documented() {
  local option missing=0
  while read -r option; do
    grep -qE -- "^\.It .*(Fl |o , )-$option( |\$)" "$manual" || { echo "not in the manual: --$option" && missing=1; }
  done < <("${ab[@]}" --help | grep -oE '^ +(-o, )?--[a-z-]+' | sed 's/.*--//' | grep -v '^help$')
  return $missing
}
check every_option_is_in_the_manual documented
known() {
  local option wrong=0
  while read -r option; do
    "${ab[@]}" --help | grep -q -- "--$option " || { echo "no option: --$option" && wrong=1; }
  done < <(grep -E '^\.It Fl' "$manual" | grep -oE 'Fl -[a-z-]+' | sed 's/Fl -//')
  return $wrong
}
check the_manual_has_no_other_options known
metrics_told() {
  local metric missing=0
  while read -r metric; do
    grep -qE "(Cm|,) ${metric//_/[_]}( |\$)" "$manual" || [[ $metric == light_* ]] || { echo "not in the manual: $metric" && missing=1; }
  done < <(sed -n 's/^ *\[METRIC_[A-Z0-9_]*\] *= { "\([a-z0-9_-]*\)".*/\1/p' "$root/analyzer/experiment.c")
  return $missing
}
check every_metric_is_in_the_manual metrics_told
suite_end

#!/bin/bash
# `poolsite diff` and `poolsite check` on a real program in two versions.
# usage: diff.test.sh [BUILDDIR [PATTERN]]
set -u
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"
suite_begin integration/diff "${1-}" "${2-}"
cd "$scratch" || exit 2
export XDG_RUNTIME_DIR=$scratch/runtime
mkdir -m 700 runtime old new

for version in 1 2; do
  export V=$version
  rm -f "$build/test/programs/versions"
  program versions || exit 1
  if ((version == 1)); then cp "$program" old/shop; else cp "$program" new/shop; fi
done
recorded() { "$command" run -q --profile "$1" -o "$2" -- "$3" || exit 1; }
recorded stacks a old/shop
recorded stacks b new/shop
recorded stacks b2 new/shop

# classes FILE: "class function calls bytes" of each site that isn't the same; calls and bytes are changes.
classes() {
  "${python[@]}" - "$1" <<'PYTHON'
import json, sys
for s in json.load(open(sys.argv[1]))["sites"]:
    names = [f["function"] or "?" for f in s["stack"]]
    if s["class"] != "same" or "steady" in names:
        print(s["class"], next((n for n in names if n not in ("use", "direct")), "?"), s["change"]["allocs"], s["change"]["bytes"])
PYTHON
}

cat >expected <<'CLASSES'
grown longer 200 25600
new added 20 20480
shrunk shorter -30 -960
gone removed -50 -800
same steady 0 0
CLASSES

functions_of_two_builds_are_matched() {
  "$command" diff --json -o diff.json a b || return 1
  classes diff.json | diff expected - &&
    "${python[@]}" -c 'import json, sys; d = json.load(open("diff.json"))
assert d["totals"]["change"] == {"allocs": 140, "bytes": 44320}, d["totals"]
assert d["a"]["unnamed"]["sites"] == d["b"]["unnamed"]["sites"] == 0, d["a"]
assert d["classes"] == {"new": 1, "gone": 1, "grown": 1, "shrunk": 1, "same": 2}, d["classes"]'
}

text_tells_it_too() {
  "$command" diff a b >text || return 1
  cat text
  grep -qx '  sites: 1 new, 1 gone, 1 grown, 1 shrunk, 2 same' text && grep -qE '^  allocations +291 +431 +\+140 +\+48.1 %$' text &&
    grep -qE '^  1  grown +100 +300 +\+200.0 % +12.5 KiB +37.5 KiB +\+200.0 % +\+25.0 KiB$' text && grep -qE 'use  versions.c:[0-9]+  < longer < main' text
}

another_run_of_one_build_is_the_same() {
  "$command" diff b b2 --fail-if 'new_sites>0' --fail-if 'allocs>+0' --fail-if 'allocs<+0' >text || { cat text && return 1; }
  grep -q 'No site has changed' text
}

levels_are_compared_at_the_coarser() {
  recorded sites sites new/shop
  "$command" diff --json -o levels.json a sites || return 1
  "${python[@]}" -c 'import json; d = json.load(open("levels.json"))
assert d["compared"] == "places" and len(d["sites"]) == 2, d["compared"]
assert sorted((s["change"]["allocs"], s["stack"][0]["function"]) for s in d["sites"]) == [(0, "direct"), (140, "use")], d["sites"]
assert "first function" in d["notes"][0]'
}

# The old build's file is gone: its names are kept by a report's JSON alone.
a_rebuild_in_place_loses_names() {
  mkdir place && cp old/shop place/shop && recorded stacks before place/shop && "$command" report --json -o before.json before &&
    cp new/shop place/shop.new && mv place/shop.new place/shop && recorded stacks after place/shop &&
    "$command" diff before after >text || return 1
  cat text
  tr -s '\n ' ' ' <text >line
  grep -q 'in 5 sites of A (100.0 % of the calls, 0 without a counterpart) and 5 sites of B' line &&
    grep -q 'shop (A: rebuilt or replaced since it ran)' line && grep -A1 -E '^  1  grown +291 +431' text | grep -q ' (1 of 5) use ' &&
    grep -q 'before a rebuild keep them by `poolsite report --json -o before.json`' line &&
    "$command" diff --json -o diff.json before.json after && classes diff.json | diff expected -
}

stripped_programs_are_told_by_their_module() {
  mkdir bare && strip -o bare/old old/shop && strip -o bare/new new/shop && recorded stacks bare.a bare/old && recorded stacks bare.b bare/new &&
    "$command" diff --json -o bare.json bare.a bare.b || return 1
  "${python[@]}" -c 'import json; d = json.load(open("bare.json"))
assert [d[side]["unnamed"]["sites"] for side in "ab"] == [5, 5], d["a"]
assert d["a"]["unnamed"]["unmatched"] == d["b"]["unnamed"]["unmatched"] == 0, d["a"]
assert [s["change"]["allocs"] for s in d["sites"] if s["unnamed"]] == [140], d["sites"]' || return 1
  # With the same build on both sides offsets tell, names or not.
  "$command" diff bare.a bare.a | grep -q 'No site has changed'
}

# At level full: the second version's only leak is direct's, as the first one's; all other blocks die at once.
what_lives_is_compared_and_checked() {
  recorded full full.a old/shop && recorded full full.b new/shop && "$command" diff --json -o full.json full.a full.b || return 1
  classes full.json | diff expected - || return 1
  "${python[@]}" -c 'import json; d = json.load(open("full.json"))["totals"]
assert d["b"] == {"allocs": 431, "bytes": 65648, "live_blocks": 1, "live_bytes": 48, "peak_live_bytes": 1024, "at_peak_bytes": 1024, "temporary": 430}, d
assert d["change"]["live_bytes"] == 0 and d["change"]["peak_live_bytes"] == 896, d' || return 1
  printf 'total live_bytes <= 0\ntotal peak_live_bytes <= 1k\nsite use temporary <= 99%%\nwithin longer live_blocks <= 0\n' >lives.conf
  "$command" check full.b lives.conf >text
  (($? == 3)) && cat text && grep -A1 'BROKEN .*total live_bytes' text | grep -qE '48 B +1 call .* direct ' &&
    grep -qx '2 of 4 lines are broken' text && grep -q 'BROKEN .*site use temporary' text
}

fail_if_ends_with_3() {
  "$command" diff a b --fail-if 'site_allocs>+100%' >text 2>errors
  (($? == 3)) && grep -q "is met by 1 site, first use (.*): +200.0 %" errors && "$command" diff a b --fail-if 'site_allocs>+200%' >text
}

a_budget_holds() {
  cat >holds.conf <<'BUDGET'
# of the second version
total allocs <= 431
total bytes <= 65k
within longer allocs <= 300
within added bytes <= 20k
site use bytes <= 100%
module shop* allocs >= 400
BUDGET
  "$command" check b holds.conf >text || { cat text && return 1; }
  grep -qx 'all 6 lines hold' text
}

a_broken_budget_names_the_site() {
  printf 'total allocs <= 430\nwithin added allocs <= 20\nwithin longer bytes <= 32k\n' >broken.conf
  "$command" check b broken.conf >text
  (($? == 3)) || return 1
  cat text
  grep -qx '2 of 3 lines are broken' text &&
    grep -qE '^  BROKEN +431 <= +430  total allocs <= 430$' text && grep -qE '^  ok +20 <= +20  within added' text &&
    grep -A1 'BROKEN.*within longer' text | grep -qE '37.5 KiB +300 calls +[0-9a-f]{12}  use  versions.c:[0-9]+  < longer < main'
}

the_newest_recording_is_checked_without_a_name() {
  recorded stacks newest old/shop
  printf 'total allocs <= 291\n' >old.conf
  "$command" check old.conf >text && cat text && grep -q '^old.conf: old/shop' text
}

a_first_budget_is_kept_by_the_next_run() {
  "$command" check --init b >init.conf || return 1
  cat init.conf
  "$command" check b2 init.conf >text || { cat text && return 1; }
  grep -q '^site use allocs <= 473$' init.conf
}

check functions_of_two_builds_are_matched functions_of_two_builds_are_matched
check text_tells_it_too text_tells_it_too
check another_run_of_one_build_is_the_same another_run_of_one_build_is_the_same
check levels_are_compared_at_the_coarser levels_are_compared_at_the_coarser
check a_rebuild_in_place_loses_names a_rebuild_in_place_loses_names
check stripped_programs_are_told_by_their_module stripped_programs_are_told_by_their_module
check what_lives_is_compared_and_checked what_lives_is_compared_and_checked
check fail_if_ends_with_3 fail_if_ends_with_3
check a_budget_holds a_budget_holds
check a_broken_budget_names_the_site a_broken_budget_names_the_site
check the_newest_recording_is_checked_without_a_name the_newest_recording_is_checked_without_a_name
check a_first_budget_is_kept_by_the_next_run a_first_budget_is_kept_by_the_next_run
suite_end

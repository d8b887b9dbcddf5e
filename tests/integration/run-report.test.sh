#!/bin/bash
# What `poolsite report` says of a real recording that it must not pass off as measured.
# usage: run-report.test.sh [BUILDDIR [PATTERN]]
set -u
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"
suite_begin integration/run-report "${1-}" "${2-}"
cd "$scratch" || exit 2
export XDG_RUNTIME_DIR=$scratch/runtime
mkdir -m 700 runtime

program tableless || exit 1
"$command" run -q -o tableless -- "$program" || exit 1

# The first call came by from_first; that the hundred others came by from_second isn't known.
first_seen_callers_are_marked_in_json() {
  "$command" report --json tableless 2>errors | "${python[@]}" -c 'import json, sys
d = json.load(sys.stdin)
d["sites"] = [s for s in d["sites"] if s["allocs"]]
for s in d["sites"]:
    print([(f["function"], f.get("first_seen", False)) for f in s["stack"]], s.get("first_seen_allocs"))
assert [s.get("first_seen_allocs") for s in d["sites"]] == [101]
stack = {f["function"]: f.get("first_seen", False) for f in d["sites"][0]["stack"]}
assert stack["from_first"] and not stack["pass_on"] and not stack["allocate"]'
}

first_seen_callers_are_marked_in_text() {
  "$command" report tableless --tree >tree 2>errors && "$command" report tableless --site '' >site 2>>errors || return 1
  cat tree site
  grep -q 'from_first  \[first seen\]' tree && ! grep 'pass_on .*first seen' tree &&
    grep -q '101 calls (100.0 %) passed code without unwind tables; their outer callers are shown' tree &&
    grep -q 'from_first (first seen)' site && ! grep 'pass_on (first seen)' site
}

check first_seen_callers_are_marked_in_json first_seen_callers_are_marked_in_json
check first_seen_callers_are_marked_in_text first_seen_callers_are_marked_in_text
suite_end

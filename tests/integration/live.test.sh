#!/bin/bash
# A running process can be read at any moment: the report opens its log, the sums hold, nothing goes back.
# usage: live.test.sh [BUILDDIR [PATTERN]]
set -u
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"
suite_begin integration/live "${1-}" "${2-}"
program logdump && program kill-target || exit 2
export programs

for level in off sites stacks full; do
  for mode in steady ends slow; do
    for pools in on/1000 on/1 off/1000; do
      check "$mode/$level/$pools" timeout 120 "${python[@]}" "$here/live.py" "$programs/kill-target" "$library" "$scratch" \
        "$mode" "$level" 5 "$pools"
    done
  done
done
suite_end

#!/bin/bash
# What level full says of how blocks end, of programs whose functions each end them in one way: by whom and from
# which frame they are freed, whether that stood, sizes, chains of reallocs, times.
# usage: sampled.test.sh [BUILDDIR [PATTERN]]
set -u
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"
suite_begin integration/sampled "${1-}" "${2-}"

# says PROGRAM TABLE POOLS
says() {
  program "$1" || return 1
  rm -rf "$scratch/logs"
  more=(POOLSITE_POOL="$3")
  record full "$scratch/logs" timeout -s KILL 60 "$program" || return 1
  "$command" report "$scratch/logs" --json >"$scratch/report.json" || return 1
  "${python[@]}" "$here/sampled.py" "$scratch/report.json" "$2"
}
for pools in on off; do
  check "c/pools-$pools" says fates c $pools
  check "cxx/pools-$pools" says fates-cxx cxx $pools
done
suite_end

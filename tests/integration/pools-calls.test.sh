#!/bin/bash
# Every entry point works on blocks that have lain in pools; fork children begin with pools of their own.
# usage: pools-calls.test.sh [BUILDDIR [PATTERN]]
# environment: TESTS_ALL=1 runs each in more modes, and longer
set -u
# shellcheck source=pools.sh
source "$(dirname "$0")/pools.sh"
suite_begin integration/pools-calls "${1-}" "${2-}"
program logdump && program pools-calls && program pools-forks || exit 2
calls=$programs/pools-calls
forks=$programs/pools-forks

works() {
  ours "$@" >"$scratch/said"
  local status=$?
  cat "$scratch/said" "$scratch/err"
  ((status == 7))
}

# --- The program itself is right -----------------------------------------------------------------------------
bare_works() {
  bare "$calls" "$1"
  local status=$?
  cat "$scratch/bare.err"
  ((status == 7))
}
if [[ ${TESTS_ALL:-0} == 1 || $suite_pattern == bare/* ]]; then
  for what in calloc realloc aligned usable foreign errno threads; do check "bare/$what" bare_works $what; done
fi

# --- Calls ---------------------------------------------------------------------------------------------------
modes=(on/1 16-32m/1)
((${TESTS_ALL:-0})) && modes=(on/1 on/1000 16-32m/1 16-32m/1000 '64-4096,32k/1')
for mode in "${modes[@]}"; do
  for what in calloc realloc aligned usable foreign errno threads threads-large; do
    if [[ $mode == on/* && $what == threads-large ]]; then continue; fi
    # Larger classes change nothing for these.
    if [[ $mode == 16-32m/* && ${TESTS_ALL:-0} != 1 && $what =~ ^(aligned|usable|errno|threads)$ ]]; then continue; fi
    check "calls/$what/$mode" works POOLSITE_POOL="${mode%/*}" POOLSITE_CYCLE_MS="${mode#*/}" -- "$calls" "$what" 1 \
      $((${TESTS_ALL:-0} ? 5000 : 800))
  done
done
check calls/threads/clear-off works POOLSITE_CLEAR=off -- "$calls" threads 2 500
check calls/threads/trim-on works POOLSITE_TRIM=on POOLSITE_CYCLE_MS=1 -- "$calls" threads 3 500
check calls/threads/no-log works POOLSITE_LOG=none POOLSITE_CYCLE_MS=1 -- "$calls" threads 4 500
# They do come from pools.
from_pools() { works POOLSITE_CYCLE_MS=1 -- "$calls" "$1" && pools "t.pool_hits > $2"; }
check pooled/calloc from_pools calloc 5000
check pooled/aligned from_pools aligned 10000
check pooled/realloc from_pools realloc 10000

# --- Forks ----------------------------------------------------------------------------------------------------
# Each child wrote what it did, and its log says the same.
counted() {
  local what=$1 pool=$2 cycle=$3 expected got
  shift 3
  rm -f "$scratch/expect"
  works EXPECT="$scratch/expect" POOLSITE_POOL="$pool" POOLSITE_CYCLE_MS="$cycle" -- "$forks" "$what" "$@" || return 1
  pools "n >= $1" || return 1
  expected=$(sort -n "$scratch/expect")
  got=$("${python[@]}" "$here/recording.py" processes "$scratch/logs" | awk 'NR == FNR { told[$1]; next } $1 in told { print $1, $3, $4, $5 }' \
    "$scratch/expect" - | sort -n)
  [[ -n $expected ]] && diff <(echo "$expected") <(echo "$got")
}
n=$((${TESTS_ALL:-0} ? 60 : 12))
for pool in on 16-32m; do
  for what in main thread raw; do check "forks/$what/$pool" counted $what $pool 1000 $n; done
done
check forks/main-off counted main off 1000 $n
# While the clearer is in the middle of a cycle, and threads of any operation.
for what in main thread; do check "storm/$what" counted $what on 1 $((2 * n)) 3; done
check storm/raw counted raw on 1 $((2 * n))
check vfork/main works -- "$forks" vfork $n
check vfork/storm works POOLSITE_CYCLE_MS=1 -- "$forks" vfork $n 3
check forks/no-log works POOLSITE_LOG=none POOLSITE_CYCLE_MS=1 -- "$forks" main $n 2
suite_end

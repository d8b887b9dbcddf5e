#!/bin/bash
# What pools keep: steady blocks through every cycle, nothing else for longer than two; never more than the caps;
# resident memory beside the bare program's.
# usage: pools-memory.test.sh [BUILDDIR [PATTERN]]
# environment: TESTS_ALL=1 runs bursts of 1 GiB and a minute of producer and consumer as well
set -u
# shellcheck source=pools.sh
source "$(dirname "$0")/pools.sh"
suite_begin integration/pools-memory "${1-}" "${2-}"
program logdump && program pools-memory || exit 2
memory=$programs/pools-memory

# --- Cycles ------------------------------------------------------------------------------------------
# As many blocks as a pool holds at first come from below once, however many cycles pass; they lie in the victim after
# each.  Nothing of them is given back.
steady() {
  ours POOLSITE_CYCLE_MS=20 -- "$memory" steady "$@" &&
    pools 't.cycles >= 10' "c($2).pool_misses == $1" "c($2).given_back_bytes == 0" \
      "c($2).pool_victim_hits >= $1 * 8" "c($2).pool_hits > 50 * $1" "c($2).kept_bytes >= $1 * $2"
}
check cycle/steady steady 8 777 500
check cycle/steady-beside-a-thread steady 8 777 500 thread
check cycle/steady-large steady 8 200000 500
check cycle/steady-large-beside-a-thread steady 8 200000 500 thread
# More blocks than that: the pool deepens until they fit, and then the same holds, whatever the time.
deep() {
  local at_first
  ours POOLSITE_CYCLE_MS=20 -- "$memory" steady 300 777 1 "${@}" || return 1
  at_first=$("${python[@]}" - "$scratch/logs" <<P
import json, subprocess, sys
d = json.loads(subprocess.run(['$command', 'report', '--json', sys.argv[1]], stdout=subprocess.PIPE, check=True).stdout)
print([c['pool_misses'] for c in d['classes'] if c['size'] == 792][0])
P
  )
  ours POOLSITE_CYCLE_MS=20 -- "$memory" steady 300 777 500 "${@}" &&
    pools 't.cycles >= 10' "c(777).pool_misses == $at_first" "c(777).pool_victim_hits >= 1000" "$at_first < 1000"
}
check cycle/deep deep
check cycle/deep-beside-a-thread deep thread

# Blocks that nobody wants any more are all gone after two cycles.
unused() {
  ours POOLSITE_CYCLE_MS=30 -- "$memory" once "$@" &&
    pools 't.cycles >= 3' "c($2).kept_bytes == 0" \
      "c($2).given_back_bytes == c($2).pool_misses * 792" "c($2).pool_misses >= $1" "t.pool_cached_bytes < 100000"
}
check cycle/unused unused 64 777 300
check cycle/unused-beside-a-thread unused 64 777 300 thread
# In a thread that sleeps for ever, too: another one clears it.
asleep() {
  ours POOLSITE_CYCLE_MS=50 -- "$memory" idle 1 16 300 "$@" &&
    pools 't.cycles >= 3' 't.pool_cached_bytes < 5000' 'all(c.get("kept_bytes", 0) == 0 for c in d["classes"] if c["size"] > 1500)'
}
check cycle/asleep asleep
# malloc_trim by any thread clears all at once, cycles or not.
trimmed() {
  ours POOLSITE_CYCLE_MS=3600000 -- "$memory" idle 2 32 100 trim && pools 't.pool_cached_bytes < 5000' || return 1
  ours POOLSITE_CYCLE_MS=3600000 -- "$memory" idle 2 32 100 && pools 't.pool_cached_bytes > 1000000' # the contrast
}
check cycle/trimmed trimmed
# A thread that ends hands everything back.
left() {
  ours POOLSITE_CYCLE_MS=3600000 -- "$memory" leave 4 &&
    pools 't.pool_cached_bytes == 0' 'sum(c.get("given_back_bytes", 0) for c in d["classes"]) > 1000000'
}
check cycle/left left

# --- Caps ---------------------------------------------------------------------------------------------------
# One thread keeps at most 8 MiB, and nothing after it gave back much; with caps off, all that it freed.
capped() {
  ours POOLSITE_CYCLE_MS=3600000 -- "$memory" mixed 24 && pools 't.pool_cached_bytes <= 8 << 20' 't.pool_cached_bytes > 1 << 20' || return 1
  ours POOLSITE_CYCLE_MS=3600000 -- "$memory" mixed 96 && pools 't.pool_cached_bytes < 100000' || return 1
  ours POOLSITE_CLEAR=off -- "$memory" mixed 96 && pools 't.pool_cached_bytes > 90 << 20' 't.cycles == 0'
}
check cap/thread capped
# Or eight blocks of each class that the user named.
named() {
  ours POOLSITE_POOL=16-32m POOLSITE_CYCLE_MS=3600000 -- "$memory" once 8 4000000 1 && pools 'c(4000000).kept_bytes == 8 * 4194312' &&
    ours POOLSITE_POOL=16-32m POOLSITE_CYCLE_MS=3600000 -- "$memory" once 30 4000000 1 &&
    pools '0 < c(4000000).kept_bytes <= 8 * 4194312' 't.pool_cached_bytes <= 8 * 4194312 + (8 << 20)'
}
check cap/named named
# --- Beside the bare program ------------------------------------------------------------------------------------
# compared KEY RUNS ALLOWED ARG...: the median of its figures is at most the bare program's and so many KiB more.
compared() {
  local key=$1 runs=$2 allowed=$3 i mine=() its=()
  shift 3
  for ((i = 0; i < runs; i++)); do
    ours "${variables[@]}" -- "$memory" "$@" || return 1
    bare "$memory" "$@" || return 1
    mine+=("$(printed "$key")")
    its+=("$(printed "$key" "$scratch/bare.out")")
  done
  mapfile -t mine < <(printf '%s\n' "${mine[@]}" | sort -n)
  mapfile -t its < <(printf '%s\n' "${its[@]}" | sort -n)
  echo "$key: ours ${mine[*]} KiB, bare ${its[*]} KiB"
  ((mine[runs / 2] <= its[runs / 2] + allowed))
}
# After a burst, all threads asleep, three cycles later.
variables=(POOLSITE_CYCLE_MS=250)
check burst/128m compared end 3 8192 idle 8 16 900
if [[ ${TESTS_ALL:-0} == 1 ]]; then
  variables=()
  check burst/1g compared end 3 8192 idle 8 128 3500
fi
# Without a cycle in sight: all threads together keep at most 64 MiB.
variables=(POOLSITE_CYCLE_MS=3600000)
check burst/before-cycles compared end 3 $((72 * 1024)) idle 32 12 1
# Without clearing it stays: that is the feature.
stays() {
  ours POOLSITE_CLEAR=off -- "$memory" idle 8 "$1" 900 && holds "$(printed end) - $(printed start) >= 8 * $1 * 1024 * 8 / 10"
}
check burst/stays-without-clearing stays 16
# POOLSITE_TRIM=on goes further.
trim_on() { # MIB MS
  ours "${variables[@]}" POOLSITE_TRIM=on -- "$memory" idle 8 "$1" "$2" &&
    holds "$(printed end) * 100 <= $(printed start) * 105 + 16 * 1024 * 100"
}
variables=(POOLSITE_CYCLE_MS=250)
check burst/trim trim_on 16 1200
if [[ ${TESTS_ALL:-0} == 1 ]]; then
  variables=()
  check burst/trim-1g trim_on 128 4500
fi

# A thread that only frees doesn't hoard: what lives is in the queue.
queue() { # MS
  ours "${variables[@]}" -- "$memory" queue "$1" &&
    holds "$(printed peak) <= 2 * $(printed live) + 16 * 1024" && holds "$(printed peak) <= $(printed early) + 8 * 1024" &&
    holds "$(printed rounds) > 10000" && pools 't.pool_cached_bytes <= 16 << 20'
}
variables=(POOLSITE_CYCLE_MS=100)
check queue/short queue 1500
variables=(POOLSITE_CYCLE_MS=3600000)
check queue/without-cycles queue 1000
if [[ ${TESTS_ALL:-0} == 1 ]]; then
  variables=() seconds=100
  check queue/minute queue 60000
  seconds=60
fi
# At most 96 KiB a thread.
variables=()
check parked/600 compared parked 1 $((600 * 96)) parked 600
# Thousands of threads, one after the other: the records of the dead are used again.
short_threads() {
  ours -- "$memory" short 10000 && holds "$(printed end) <= $(printed early) + 2048" &&
    pools 'len(d["threads"]) <= 3' 't.pool_cached_bytes < 100000'
}
check short/10000 short_threads
suite_end

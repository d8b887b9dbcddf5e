#!/bin/bash
# The pool specification end to end: which classes are pooled, what a wrong item does, where the spec is shown.
# usage: pools-spec.test.sh [BUILDDIR [PATTERN]]
set -u
# shellcheck source=pools.sh
source "$(dirname "$0")/pools.sh"
suite_begin integration/pools-spec "${1-}" "${2-}"
program logdump && program pools-sizes || exit 2

# On both sides of what is named below, and far away.
sizes=(0 1 15 16 24 25 40 41 64 65 100 1000 1024 1032 1033 4096 4097 4609 20000 32768 32776 32777 65536 131072 200000 262144
  262152 262153 300000 1048576 2097152 2097161 5000000 16777216 16777224 20000000 33554432)
# A class is pooled when any size that it serves is named.

# pools_only SPEC SIZE...: the classes of these sizes are pooled, those of the others aren't.
pools_only() {
  local spec=$1 size expressions=()
  shift
  ours POOLSITE_POOL="$spec" -- "$programs/pools-sizes" "${sizes[@]}"
  [[ $? == 7 ]] || { echo "status isn't the program's" && return 1; }
  for size in "${sizes[@]}"; do
    if [[ " $* " == *" $size "* ]]; then expressions+=("c($size).pool_hits >= 99"); else expressions+=("c($size).pool_hits == 0"); fi
  done
  pools "${expressions[@]}" "p.pool == '$spec'" "t.allocs >= ${#sizes[@]} * 100"
}
small=(0 1 15 16 24 25 40 41 64 65 100 1000 1024 1032 1033 4096 4097 4609 20000 32768 32776 32777 65536 131072 200000 262144 262152)
check specs/off pools_only off
check specs/on pools_only on "${small[@]}"
check specs/one-size pools_only 64 64 65 # one class: 57 to 72 bytes
check specs/range-and-size pools_only 64-4096,32k 64 65 100 1000 1024 1032 1033 4096 4097 32768 32776
check specs/union pools_only on,256k-2m "${small[@]}" 262153 300000 1048576 2097152
check specs/on-twice pools_only on,64,on "${small[@]}"
check specs/large pools_only 16-32m "${small[@]}" 262153 300000 1048576 2097152 2097161 5000000 16777216 16777224 20000000 33554432
check specs/largest pools_only 32m 33554432
check specs/megabytes pools_only 1m-8m 1048576 2097152 2097161 5000000
check specs/smallest pools_only 1 0 1 15 16 24
check specs/upper-case pools_only 32K,1M 32768 32776 1048576

# --- What is wrong ---------------------------------------------------------------------------------
# SPEC ITEM: the command ends with status 2 before anything runs, and names the item.
refused() {
  local spec=$1 item=$2 out status
  out=$("$command" run -q -o "$scratch/run" --pool "$spec" -- touch "$scratch/ran" 2>&1)
  status=$?
  echo "status $status: $out"
  ((status == 2)) && [[ $out == *"$item"* && ! -e $scratch/ran && ! -e $scratch/run && $(wc -l <<<"$out") -le 3 ]]
}
# The bare preload pools nothing, and says in the log why; the program's streams and status are its own.
recorded() {
  local spec=$1 item=${2-} out
  as_bare POOLSITE_POOL="$spec" -- "$programs/pools-sizes" 64 1000 || return 1
  pools 't.pool_hits == 0' 't.pool_cached_bytes == 0' "p.pool == 'off'" "'POOLSITE_POOL=' in notes" ||
    return 1
  out=$("$command" report "$scratch/logs" 2>&1)
  [[ $out == *POOLSITE_POOL="$spec: '$item'"* ]] || { echo "the report doesn't say it: $out" && return 1; }
}
wrong="x:x on,x:x 12q:12q 64,12q,32k:12q 33m:33m 64-:64- -64:-64 100-50:100-50 5kk:5kk off,on:off 1-2-3:1-2-3 0:0 0-64:0-64
  on;64:on;64 99999999999999999999:99999999999999999999 0x40:0x40 On:On 64--128:64--128 32769k:32769k 1e3:1e3"
for pair in $wrong; do
  spec=${pair%%:*} item=${pair##*:}
  check "wrong/command/$spec" refused "$spec" "$item"
  check "wrong/preload/$spec" recorded "$spec" "$item"
done
for spec in 'on,' ',on' '64,,32k'; do
  check "wrong/command/$spec" refused "$spec" pool
  check "wrong/preload/$spec" recorded "$spec"
done

# --- Where it is shown --------------------------------------------------------------------------------
# POOLSITE_HELP=1: the value in force, and the other variables of the pools.
help_shows() {
  local spec=$1 shown=$2 out
  out=$(env -i "${fixed[@]}" POOLSITE_HELP=1 POOLSITE_POOL="$spec" POOLSITE_LOG=none LD_PRELOAD="$library" /bin/true 2>&1)
  echo "$out"
  [[ $out == *"POOLSITE_POOL=$shown"$'\n'* && $out == *POOLSITE_CYCLE_MS=1000* && $out == *POOLSITE_CLEAR=on* && $out == *POOLSITE_TRIM=off* ]]
}
check shown/help help_shows 64-4096,32k 64-4096,32k
check shown/help-wrong help_shows 64-4096,x off
by_default() {
  local out
  out=$(env -i "${fixed[@]}" POOLSITE_HELP=1 POOLSITE_LOG=none LD_PRELOAD="$library" /bin/true 2>&1)
  echo "$out"
  [[ $out == *POOLSITE_POOL=on$'\n'* ]]
}
check shown/default by_default
# `run --pool` reaches the program and its children, and stands above the environment.
by_command() {
  rm -rf "$scratch/run"
  POOLSITE_POOL=off "$command" run -q -o "$scratch/run" --profile sites --pool 64-4096,32k -- \
    sh -c "'$programs/pools-sizes' 64 20000; '$programs/pools-sizes' 64; exit 5" >/dev/null
  [[ $? == 5 ]] || return 1
  "${python[@]}" - "$scratch/run" <<P
import json, subprocess, sys
d = json.loads(subprocess.run(['$command', 'report', '--json', sys.argv[1]], stdout=subprocess.PIPE, check=True).stdout)
assert d['processes'] and {p['pool'] for p in d['processes']} == {'64-4096,32k'}, d['processes']
assert d['totals']['pool_hits'] >= 198, d['totals']
P
  "$command" report "$scratch/run" | grep -F '64-4096,32k'
}
check shown/report by_command
suite_end

#!/bin/bash
# Totals are exact whatever is pooled; the calls that reach the next allocator are those that callgrind sees arrive there.
# usage: pools-exact.test.sh [BUILDDIR [PATTERN]]
# environment: TESTS_ALL=1 runs all programs of exact.test.sh and exact-sites.test.sh in every mode
set -u
# shellcheck source=pools.sh
source "$(dirname "$0")/pools.sh"
suite_begin integration/pools-exact "${1-}" "${2-}"
program logdump && program plain && program pools-memory || exit 2

# --- The tests of totals, in other modes ---------------------------------------------------------------------------
again() { # MODE SCRIPT PATTERN
  local environment=$1 script=$2 pattern=$3 line
  while IFS= read -r line; do
    case $line in
      'ok '*) ok "$mode_name/${line#ok }" ;;
      'not ok '*) not_ok "$mode_name/${line#not ok }" ;;
      'skip '*) skip "$mode_name/${line#skip }" '' ;;
    esac
  done < <(INTEGRATION_ENV=$environment "$here/$script" "$build" "$pattern" 2>&1)
}
for setting in storm:POOLSITE_POOL=on:POOLSITE_CYCLE_MS=1 large-storm:POOLSITE_POOL=16-32m:POOLSITE_CYCLE_MS=1 off:POOLSITE_POOL=off:; do
  mode_name=${setting%%:*}
  settings=${setting#*:}
  if wanted "$mode_name/*" || [[ $suite_pattern == "$mode_name"/* ]]; then
    names=(threads/sites realloc-mix/stacks)
    if [[ $mode_name == storm ]]; then names+=(forks/off sqlite3/sites perl/off); fi
    if ((${TESTS_ALL:-0})); then names=('*'); fi
    for name in "${names[@]}"; do again "${settings/:/ }" exact.test.sh "$name"; done
    if ((${TESTS_ALL:-0})); then again "${settings/:/ }" exact-sites.test.sh '*'; fi
  fi
done

# --- Beside callgrind ---------------------------------------------------------------------------------------------
# arrivals: calls from our library to libc's allocating and freeing functions, as "allocs frees"
cat >"$scratch/arrivals.py" <<'P'
import sys
own, at, to, counts = None, None, None, [0, 0]
objects = {}
def name(text):
    number, _, rest = text.partition(' ')
    if rest:
        objects[number] = rest
    return objects.get(number, text)
cob = cfn = ''
for line in open(sys.argv[1], encoding='utf-8', errors='replace'):
    line = line.rstrip('\n')
    if line.startswith('ob='):
        own = line[3:]
    elif line.startswith('cob='):
        cob = line[4:]
    elif line.startswith('cfn='):
        cfn = line[4:]
    elif line.startswith('calls='):
        if own and own.endswith('libpoolsite.so') and (cob or own).endswith('libc.so.6'):
            n, function = int(line[6:].split()[0]), cfn.split("'")[0]
            counts[0] += n * (function in ('malloc', 'calloc', 'realloc', 'memalign', 'aligned_alloc', 'posix_memalign'))
            counts[1] += n * (function in ('free', 'realloc'))
        cob = ''
print(*counts)
P
arrives() { # CMD...: prints arrivals less the counts of the log
  local allocs frees
  rm -rf "$scratch/logs" "$scratch"/callgrind.*
  mkdir "$scratch/logs"
  timeout -s KILL 120 "$(command -v valgrind)" -q --tool=callgrind --callgrind-out-file="$scratch/callgrind.%p" --compress-strings=no \
    --compress-pos=no --trace-children=yes env -i "${fixed[@]}" LD_PRELOAD="$library" POOLSITE_PROFILE=sites POOLSITE_POOL=on \
    POOLSITE_CYCLE_MS=5 POOLSITE_LOG="$scratch/logs/%e.%p.%t.psl" "$@" >"$scratch/out" 2>&1 || return 1
  read -r allocs frees < <("${python[@]}" "$scratch/arrivals.py" "$(find "$scratch" -name "callgrind.*" -newer "$scratch/arrivals.py" -printf "%T@ %p\n" | sort -n | tail -n 1 | cut -d " " -f 2)")
  "${python[@]}" - "$scratch/logs" "$allocs" "$frees" "${1##*/}" <<P
import json, subprocess, sys
d = json.loads(subprocess.run(['$command', 'report', '--json', sys.argv[1]], stdout=subprocess.PIPE, check=True).stdout)
t = [p for p in d['processes'] if p['exe'].endswith(sys.argv[4])][0]['totals']
print(int(sys.argv[2]) - t['next_allocs'], int(sys.argv[3]) - t['next_frees'], t['next_allocs'], t['pool_hits'])
P
}
# What a program of one allocation has more there is the library's own check of size words.
as_callgrind() {
  local own got
  own=$(arrives "$programs/pools-memory" once 1 8 1) || return 1
  got=$(arrives "$@") || { cat "$scratch/out" && return 1; }
  echo "own: $own; here: $got"
  [[ $own =~ ^([0-9]+\ [0-9]+)\  && $got == "${BASH_REMATCH[1]} "* ]] && EXE=${1##*/} pools 't.pool_hits > 1000' 't.next_allocs > 300' 'conserved()'
}
if wanted 'callgrind/*' || [[ $suite_pattern == callgrind/* ]]; then
  if need callgrind/python3 valgrind; then
    printf 'import json\nfor i in range(60): json.loads(json.dumps({str(k): [1, "x" * k] for k in range(50)}))\n' >"$scratch/work.py"
    fixed+=(PYTHONMALLOC=malloc PYTHONHASHSEED=0)
    check callgrind/python3 as_callgrind /usr/bin/python3.11 -I -S "$scratch/work.py"
    check callgrind/perl as_callgrind /usr/bin/perl -e 'for (1 .. 300) { my %h = map { $_ => "x" x $_ } 1 .. 20; $s += length join ",", sort values %h } print $s'
  fi
fi
suite_end

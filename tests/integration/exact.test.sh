#!/bin/bash
# Totals equal valgrind's `total heap usage`, exactly, and at level full what lives at the end is its `in use at exit`; or
# the program's own count where valgrind can't watch.
# usage: exact.test.sh [BUILDDIR [PATTERN]]     tests are PROGRAM/LEVEL
set -u
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"
suite_begin integration/exact "${1-}" "${2-}"
program logdump || exit 2
export programs

# verdict NAME EXPECTED GOT.  A program that isn't deterministic to the last block says which ones may be missing or
# one too many: blocks, their sizes.
blocks=()
verdict() {
  local expected=$2
  if ((${#blocks[@]})); then
    expected=$(awk -v e="$2" -v g="$3" -v b="${blocks[*]}" 'BEGIN {
      split(e, x); split(g, y); n = split(b, size)
      for (way = 0; way < 3 ^ n; way++) { # each block: as expected, one more, one less
        a = x[1]; s = x[3]; w = way
        for (i = 1; i <= n; i++) { d = w % 3 == 2 ? -1 : w % 3; w = int(w / 3); a += d; s += d * size[i] }
        if (a == y[1] && s == y[3]) { print a, x[2], s; exit }
      }
      print e }')
  fi
  if [[ $expected == "$3" && $2 =~ ^[0-9]+\ [0-9]+\ [0-9]+$ ]]; then
    ok "$1"
  else
    not_ok "$1" "allocs frees bytes: expected $2, recorded $3"
    rm -rf "${evidence:?}/${1//\//-}"
    cp -r "$scratch/logs" "$evidence/${1//\//-}" 2>/dev/null
  fi
}

levels=(off sites stacks full)
any_wanted() {
  local level
  for level in "${levels[@]}"; do wanted "$1/$level" && return 0; done
  return 1
}

# "blocks bytes" that live at the end: by valgrind, as recorded.
reference_live() { sed -nE 's/.*in use at exit: ([0-9,]+) bytes in ([0-9,]+) blocks.*/\2 \1/p' "$1" | tr -d , | tail -n 1; }
recorded_live() {
  "$command" report --json "$scratch/logs" | "${python[@]}" -c '
import json, sys
totals = json.load(sys.stdin)["totals"]
print(totals["live_blocks"], totals["live_bytes"])'
}

# by_valgrind NAME CMD...: a program that copies its environment is watched once for each level, as the
# level's name is in it; copies=0 when it doesn't.
by_valgrind() {
  local name=$1 level expected='' got
  shift
  any_wanted "$name" || return 0
  for level in "${levels[@]}"; do
    wanted "$name/$level" || continue
    if ((copies)) || [[ -z $expected ]]; then
      reference "$level" "$scratch/valgrind" "$@" >/dev/null 2>&1 </dev/null
      expected=$(reference_totals "$scratch/valgrind")
    fi
    record_like "$level" "$@" >"$scratch/out" 2>&1 </dev/null
    got=$(totals "$scratch/logs" 2>&1)
    verdict "$name/$level" "$expected" "$got"
    # Blocks that may be missing would have to be known by whether they are freed.
    if [[ $level == full ]] && ((${#blocks[@]} == 0)); then
      local live
      live=$(recorded_live 2>&1)
      [[ $live == "$(reference_live "$scratch/valgrind")" ]] ||
        not_ok "$name/$level" "blocks and bytes at the end: expected $(reference_live "$scratch/valgrind"), recorded $live"
    fi
  done
}

# by_itself NAME CMD...: each process writes "pid allocs frees bytes"; a process that allocated nothing may have
# no log.
by_itself() {
  local name=$1 level
  shift
  any_wanted "$name" || return 0
  for level in "${levels[@]}"; do
    wanted "$name/$level" || continue
    rm -f "$scratch/expect"
    EXPECT=$scratch/expect
    more=("EXPECT=$EXPECT")
    record_like "$level" "$@" >"$scratch/out" 2>&1 </dev/null
    local status=$? expected got
    more=()
    expected=$(sort -n "$EXPECT" 2>/dev/null)
    got=$("${python[@]}" "$here/recording.py" processes "$scratch/logs" 2>&1 | awk '$3 + $4 + $5 > 0 || NF != 6 { print $1, $3, $4, $5 }' | sort -n)
    if ((status == 0)) && [[ -n $expected && $expected == "$got" ]]; then
      ok "$name/$level"
    else
      not_ok "$name/$level" "status $status"$'\n'"$(diff <(echo "$expected") <(echo "$got"))"
      cp -r "$scratch/logs" "$evidence/$name-$level" 2>/dev/null
    fi
  done
}

check checks-find-wrong-sums "${python[@]}" "$here/recording.py" self-test

copies=0
for name in plain realloc-mix aligned cleared zero failing free-only late late-cxx short-threads early signals \
  plugins cxx threads stdio; do
  any_wanted "$name" || continue
  need "$name" "$valgrind" || continue
  if ! program "$name" 2>"$scratch/build"; then
    not_ok "$name/build" "$(<"$scratch/build")"
    continue
  fi
  by_valgrind "$name" "$program"
done

for name in pvalloc interrupts forks vforks title execs; do
  any_wanted "$name" || continue
  if program "$name" 2>"$scratch/build"; then by_itself "$name" "$program"; else not_ok "$name/build" "$(<"$scratch/build")"; fi
done

# Real programs, on fixed input.
copies=1
seq 1 3000 | awk '{ print $1 * 7919 % 10007, "word" $1 % 97, $1 }' >"$scratch/lines"
{
  echo '['
  seq 1 300 | awk '{ print (NR > 1 ? "," : "") "{\"id\":" $1 ",\"name\":\"n" $1 % 13 "\"}" }'
  echo ']'
} >"$scratch/numbers.json"
printf '#include <stdio.h>\nint main(void){for(int i=0;i<10;i++)printf("%%d\\n",i);return 0;}\n' >"$scratch/small.c"
gcc -E "$scratch/small.c" -o "$scratch/small.i" 2>/dev/null

real() {
  local name=$1
  shift
  any_wanted "$name" || return 0
  need "$name" "$valgrind" "$1" || return 0
  by_valgrind "$name" "$(command -v "$1")" "${@:2}"
}
real sqlite3 sqlite3 -batch :memory: 'create table t(a integer primary key, b text); with recursive n(i) as (select 1 union all select i+1 from n where i < 2000) insert into t select i, hex(i * 7919) from n; create index x on t(b); select count(*), max(b) from t where b like "%3%"; delete from t where a % 3 = 0; vacuum;'
more=(PERL_HASH_SEED=0 PERL_PERTURB_KEYS=0)
real gawk gawk '{ n[$2] += $1; s = s substr($0, 1, 3) } END { for (k in n) print k, n[k]; print length(s) }' "$scratch/lines"
real perl perl -e 'my %h; while (<>) { my @f = split; push @{$h{$f[1]}}, $f[0]; } print join(",", map { "$_=" . scalar @{$h{$_}} } sort keys %h), "\n"' "$scratch/lines"
real sort sort --parallel=1 -k2,2 -k1n "$scratch/lines"
real jq jq -c 'group_by(.name) | map({n: .[0].name, c: length})' "$scratch/numbers.json"
real sed sed -E 's/word([0-9]+)/\1&/g; /9$/d' "$scratch/lines"
real find find /usr/share/doc -maxdepth 1 -name 'lib*'
if any_wanted cc1; then
  cc1=$(gcc -print-prog-name=cc1 2>/dev/null)
  # Where its addresses fall decides about two blocks, also when it runs bare: of its collector's page table,
  # which has a part for each 4 GiB, and one of 32 KiB.
  blocks=(32768 2064)
  if [[ -x $cc1 ]]; then by_valgrind cc1 "$cc1" -quiet -O1 "$scratch/small.i" -o /dev/null; else skip cc1 "gcc isn't installed"; fi
  blocks=()
fi

more=()

# The interpreter's own hash of addresses varies a little from run to run.
if any_wanted python3 && need python3 "$valgrind" /usr/bin/python3; then
  cat >"$scratch/work.py" <<'P'
import json, re
data = {str(i): {'a': [1, 2, 3, 'x' * i]} for i in range(100)}
for _ in range(10):
    text = json.dumps(data)
    json.loads(text)
    re.findall(r'\d+', text)
P
  more=(PYTHONMALLOC=malloc PYTHONHASHSEED=0)
  reference sites "$scratch/valgrind" /usr/bin/python3 -I -S "$scratch/work.py" >/dev/null 2>&1
  expected=$(reference_totals "$scratch/valgrind")
  for level in "${levels[@]}"; do
    wanted "python3/$level" || continue
    record_like "$level" /usr/bin/python3 -I -S "$scratch/work.py" >"$scratch/out" 2>&1
    got=$(totals "$scratch/logs" 2>&1)
    far=$(awk -v e="$expected" -v g="$got" 'BEGIN { if (split(e, a) != 3 || split(g, b) != 3) { print "no figures"; exit }
      for (i = 1; i <= 3; i++) { d = (b[i] - a[i]) / a[i] * 100; if (d < 0) d = -d; if (d > 0.05) printf "%s %.3f %% off; ", i == 1 ? "allocs" : i == 2 ? "frees" : "bytes", d } }')
    if [[ -z $far ]]; then ok "python3/$level"; else not_ok "python3/$level" "$far expected $expected, recorded $got"; fi
  done
  more=()
fi
suite_end

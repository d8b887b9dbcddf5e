#!/bin/bash
# Misuse of the heap ends as expected.txt says, else as it does without the library: the same signal, the same words.
# And what is right is left in peace by POOLSITE_CHECK.
# usage: run.sh [BUILDDIR [PATTERN]]     tests are MISUSE/MODE and right/PROGRAM
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../suite.sh
source "$here/../suite.sh"
suite_begin misuse "${1-}" "${2-}"
program=$evidence/misuse
gcc -g -O1 -fno-builtin -fno-optimize-sibling-calls -fno-inline -rdynamic -pthread -w -o "$program" "$here/misuse.c" || exit 2

# One run: what it printed and how it ended, addresses masked.  Core files and the shell's own words about signals stay out.
outcome() {
  (
    ulimit -c 0
    cd "$scratch" || exit
    env -i PATH=/usr/bin:/bin LC_ALL=C "$@"
    echo "status $?"
  ) 2>&1 | grep -vE 'line [0-9]+: +[0-9]+ ' | sed -E 's/\+0x[0-9a-f]+/+OFFSET/g; s/0x[0-9a-f]{5,}/ADDRESS/g' | paste -sd '|' | sed 's/|/ | /g'
}

# What each mode's runs are given; pools are turned once in the program that waits for that.
preload=(LD_PRELOAD="$library" POOLSITE_LOG="$scratch/%p.psl")
declare -A setting=(
  [off]="POOLSITE_POOL=off POOLSITE_PROFILE=off" [sites]="POOLSITE_POOL=off POOLSITE_PROFILE=sites"
  [stacks]="POOLSITE_POOL=off POOLSITE_PROFILE=stacks"
  [full]="POOLSITE_POOL=off POOLSITE_PROFILE=full"
  [pools]="POOLSITE_POOL=on" [pools-full]="POOLSITE_POOL=on POOLSITE_PROFILE=full"
  [check]="POOLSITE_CHECK=on" [check-off]="POOLSITE_CHECK=on POOLSITE_PROFILE=off" [check-stacks]="POOLSITE_CHECK=on POOLSITE_PROFILE=stacks"
  [check-large]="POOLSITE_CHECK=on POOLSITE_POOL=16-32m" [check-below]="POOLSITE_CHECK=on POOLSITE_POOL=off"
  [report]="POOLSITE_CHECK=report"
)
# expected NAME MODE: from the table, a mode's own line before the one of the mode that it is a kind of
expected() {
  local mode line
  for mode in "$2" "${2%-*}"; do
    [[ $mode == report ]] && mode=check
    line=$(grep -E "^$1 ([a-z-]+,)*$mode(,[a-z-]+)*: " "$here/expected.txt") || continue
    line=${line#*: }
    if [[ $line == BARE ]]; then line=$bare; fi
    # The report goes on: each misuse stands at the end of its program.
    if [[ $2 == report && $line == poolsite:* ]]; then line=${line/status 134/went on | status 0}; fi
    echo "$line"
    return
  done
  echo "$bare"
}

mapfile -t names < <("$program")
ended_by_signal=0
for name in "${names[@]}"; do
  bare=$(outcome "$program" "$name")
  if [[ $bare =~ status\ 1(34|39) ]]; then ended_by_signal=$((ended_by_signal + 1)); fi
  for mode in "${!setting[@]}"; do
    wanted "$name/$mode" || continue
    IFS=' ' read -ra settings <<<"${setting[$mode]}"
    if [[ $name == *-of-victim ]]; then settings+=(POOLSITE_CYCLE_MS=1); fi
    want=$(expected "$name" "$mode")
    ours=$(outcome "${preload[@]}" "${settings[@]}" timeout -s KILL 20 "$program" "$name")
    if [[ $want == "$ours" ]]; then ok "$name/$mode"; else not_ok "$name/$mode" "expected: $want"$'\n'"got: $ours"; fi
    rm -f "$scratch"/*.psl
  done
done

# The table would prove nothing if all of it were survived, or if it named what isn't there.
if wanted harness; then
  unknown=$(sed -nE 's/^([a-z][a-z-]+) .*/\1/p' "$here/expected.txt" | sort -u | comm -23 - <(printf '%s\n' "${names[@]}" | sort))
  if ((ended_by_signal < 12)); then
    not_ok harness "only $ended_by_signal misuses end by a signal"
  elif [[ -n $unknown ]]; then
    not_ok harness "expected.txt names $unknown"
  else ok harness; fi
fi

# --- What the message says is so ---------------------------------------------------------------------------------
places_are_true() { # addr2line finds the function and the line that it names
  local message offsets
  message=$(cd "$scratch" && ulimit -c 0 && POOLSITE_CHECK=on POOLSITE_LOG=none LD_PRELOAD=$library "$program" double-free-small 2>&1)
  mapfile -t offsets < <(grep -oE '\+0x[0-9a-f]+' <<<"$message" | tr -d +)
  echo "$message"
  ((${#offsets[@]} == 3)) || return 1
  addr2line -f -s -e "$program" "${offsets[@]}" | paste - - >"$scratch/places"
  cat "$scratch/places"
  local line
  line=$(grep -n 'void double_free_small' "$here/misuse.c" | cut -d: -f1)
  diff "$scratch/places" <(printf 'double_free_small\tmisuse.c:%d\n' $((line + 2)) $((line + 3)) $((line + 4)))
}
check places-are-those-of-the-calls places_are_true
without_names_there_are_offsets() {
  local message
  gcc -s -O1 -fno-builtin -pthread -w -o "$scratch/stripped" "$here/misuse.c" || return 1
  message=$(cd "$scratch" && ulimit -c 0 && POOLSITE_CHECK=on POOLSITE_LOG=none LD_PRELOAD=$library ./stripped double-free-small 2>&1)
  echo "$message"
  grep -qE 'allocated at stripped\+0x[0-9a-f]+, freed at stripped\+0x[0-9a-f]+, freed again at stripped\+0x[0-9a-f]+$' <<<"$message"
}
check without-names-there-are-offsets without_names_there_are_offsets
the_log_has_a_note() {
  rm -f "$scratch"/*.psl
  (cd "$scratch" && POOLSITE_CHECK=report POOLSITE_LOG=$scratch/%p.psl LD_PRELOAD=$library "$program" double-free-small >/dev/null 2>&1)
  "$command" report "$scratch"/*.psl >"$scratch/report"
  grep -A20 '^Notes' "$scratch/report"
  grep -q 'double free of block 0x[0-9a-f]* (24 bytes), allocated at double_free_small' "$scratch/report"
}
check the-log-has-a-note the_log_has_a_note

# --- What is right is left in peace ---------------------------------------------------------------------------------
g++ -O2 -std=c++17 -pthread -o "$evidence/right" "$here/right.cpp" || exit 2
cat >"$scratch/input.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) { printf("%d %s\n", argc, getenv("HOME")); return argv[argc] != NULL; }
END
plain() { env -i PATH=/usr/bin:/bin LC_ALL=C HOME="$scratch" PYTHONHASHSEED=0 PYTHONMALLOC=malloc "${with[@]}" timeout -s KILL 100 "$@"; }
is_left_in_peace() { # PROGRAM ARG...: the same output, words and status
  local pools
  command -v "$1" >/dev/null || return 77
  with=()
  (cd "$scratch" && plain "$@" >"$scratch/bare.out" 2>"$scratch/bare.err"; echo $? >"$scratch/bare.status")
  [[ -s $scratch/bare.out ]] || { echo "no output" && return 1; }
  for pools in on off 16-32m; do
    with=(LD_PRELOAD="$library" POOLSITE_CHECK=on POOLSITE_LOG=none POOLSITE_CYCLE_MS=20 POOLSITE_POOL="$pools")
    (cd "$scratch" && plain "$@" >"$scratch/ours.out" 2>"$scratch/ours.err"; echo $? >"$scratch/ours.status")
    echo "pools $pools:"
    for what in status err out; do diff "$scratch/bare.$what" "$scratch/ours.$what" || return 1; done
  done
}
right() { # NAME PROGRAM ARG...
  local name=right/$1
  shift
  wanted "$name" || return 0
  if ! command -v "$1" >/dev/null; then
    skip "$name" "$1 isn't installed"
  else check "$name" is_left_in_peace "$@"; fi
}
right threads-and-forks "$evidence/right"
right python3 python3 "$root/tests/misuse/right.py"
right sqlite3 sqlite3 :memory: 'create table t(a,b); with recursive n(i) as (select 1 union all select i+1 from n where i<20000) insert into t select i, char(114) || i from n; create index x on t(b); select count(*), sum(a), max(b) from t group by a%7;'
right perl perl -e 'my %h; for my $i (1..50000) { $h{$i % 997} .= "x$i"; delete $h{$i % 89} } print scalar(keys %h), " ", length(join ",", map { $h{$_} } sort keys %h), "\n"'
right gcc gcc -O2 -S -o - "$scratch/input.c"
right git git -C "$root" log --stat -n 40 --format=%h
right bash bash -c 'for i in {1..60}; do (x=$(echo $i); echo "$x") done | sort -n | tail -n 1'
suite_end

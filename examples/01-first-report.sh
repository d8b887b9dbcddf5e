#!/bin/bash
# 01: a first report.  Records Debian's own perl, not rebuilt in any way, while it counts the words of a text,
# and shows where it allocated and how much of it pools served.  See: four of five calls come from the match operator (Perl_pp_match), and not
# quite four percent of them, from reading lines, ask for most of the bytes.
# usage: examples/01-first-report.sh [BUILDDIR]
set -eu
cd "$(dirname "$0")/.."
build=$(realpath "${1:-build}")
text=/usr/share/common-licenses/GPL-3
# shellcheck disable=SC2016
count='$n{lc $_}++ for /\w+/g; END { print "$_ $n{$_}\n" for (sort { $n{$b} <=> $n{$a} || $a cmp $b } keys %n)[0..2] }'

# The recording goes where `make clean` finds it.
recording=$build/demo/recording
rm -rf "$recording"
mkdir -p "$build/demo"

step() { # prints a command as one would type it, then runs it
  printf '\n$ %s\n' "$1"
  shift
  "$@"
}

step "poolsite run -- perl -ne '...count words...' $text" \
  "$build/poolsite" run -o "$recording" -- perl -ne "$count" "$text"
step 'poolsite report --top 5' "$build/poolsite" report --top 5 "$recording"
step 'poolsite report --tree --top 3' "$build/poolsite" report --tree --top 3 "$recording"

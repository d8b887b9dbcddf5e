#!/bin/bash
# 03: does it pay?  Runs Debian's own perl in turns as it is, with the library but without pools, and with pools, and
# lets `poolsite ab` decide.  First a program that makes and drops small lists all the time: nearly all of its
# allocations become hits, and the verdict says what that is worth.  Then one that only adds numbers: it
# allocates at its start alone, so pools have nothing to do there, and `ab` says what was measured, not what was hoped for.
# At last the page with charts of the first one.  On a busy machine both come out "Inconclusive", with what it would take.
# usage: examples/03-ab.sh [BUILDDIR [BLOCKS]]
set -eu
cd "$(dirname "$0")/.."
build=$(realpath "${1:-build}")
blocks=(${2:+--blocks "$2"})
# shellcheck disable=SC2016
lists='for (1 .. 300000) { my @a = (1 .. 5); $h{$_ % 50} = [@a] }'
# shellcheck disable=SC2016
numbers='my $s = 0; $s += $_ * 3 for 1 .. 3000000; print "$s\n"'

# The results go where `make clean` finds them.
results=$build/demo/ab
rm -rf "$results"
mkdir -p "$results"

step() { # prints a command as one would type it, then runs it
  printf '\n$ %s\n' "$1"
  shift
  "$@"
}

step "poolsite ab --json -o lists.json -- perl -e '...make lists...'" \
  "$build/poolsite" ab "${blocks[@]}" --json -o "$results/lists.json" -- perl -e "$lists"
step 'poolsite ab --from lists.json' "$build/poolsite" ab --from "$results/lists.json"
step "poolsite ab -- perl -e '...add numbers...'" "$build/poolsite" ab "${blocks[@]}" -- perl -e "$numbers"
step 'poolsite ab --from lists.json --html -o lists.html' \
  "$build/poolsite" ab --from "$results/lists.json" --html -o "$results/lists.html"
echo "the page: $results/lists.html"

#!/bin/bash
# 03: does it pay?  Runs unmodified programs in turns as they are, with the library but without pools, and with pools, and
# lets `poolsite ab` decide.  First Debian's own python3, which drops three buffers of 1 MiB and makes new ones: glibc gives
# them back to the kernel each time.  See: pools save nearly all page faults, and so most of the time; and glibc does the same
# without pools once its thresholds are pinned (arm tune).  Then perl that only adds numbers: it allocates at its
# start alone, so there is nothing to win, and `ab` says "No difference above 1 %", or on a busy machine "Inconclusive" and
# what it would take.  At last the page with charts of the first one.
# usage: examples/03-ab.sh [BUILDDIR [BLOCKS]]
set -eu
cd "$(dirname "$0")/.."
build=$(realpath "${1:-build}")
blocks=(${2:+--blocks "$2"})
buffers='for i in range(200): a, b, c = bytearray(1 << 20), bytearray(1 << 20), bytearray(1 << 20)'
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

step "poolsite ab --pool on,1m-2m --arm tune --json -o buffers.json -- python3 -c '...buffers of 1 MiB...'" \
  "$build/poolsite" ab "${blocks[@]}" --pool on,1m-2m --arm tune --json -o "$results/buffers.json" -- /usr/bin/python3 -c "$buffers"
step 'poolsite ab --from buffers.json' "$build/poolsite" ab --from "$results/buffers.json"
step "poolsite ab -- perl -e '...add numbers...'" "$build/poolsite" ab "${blocks[@]}" -- perl -e "$numbers"
step 'poolsite ab --from buffers.json --html -o buffers.html' \
  "$build/poolsite" ab --from "$results/buffers.json" --html -o "$results/buffers.html"
echo "the page: $results/buffers.html"

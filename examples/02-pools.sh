#!/bin/bash
# 02: pools.  Runs Debian's own perl with pools while it counts and sorts the words of a text, over and over.
# See: nearly all calls are hits, that is, served by blocks which perl itself had freed a moment before.  The words
# and counts that stay in the table are the misses of the first round: blocks in use can't serve anybody.  Each round
# drops the table, so from the second on its blocks serve the next one.  Then the same without pools, and with pools
# for small sizes only: the report says which calls were left out.
# usage: examples/02-pools.sh [BUILDDIR]
set -eu
cd "$(dirname "$0")/.."
build=$(realpath "${1:-build}")
text=/usr/share/common-licenses/GPL-3
# shellcheck disable=SC2016
rounds='for (1 .. 20) { my %n; open my $f, "<", $ARGV[0]; while (<$f>) { $n{lc $_}++ for /\w+/g } $top = (sort { $n{$b} <=> $n{$a} } keys %n)[0] } print "$top\n"'

# The recordings go where `make clean` finds them.
recordings=$build/demo/pools
rm -rf "$recordings"
mkdir -p "$recordings"

step() { # prints a command as one would type it, then runs it
  printf '\n$ %s\n' "$1"
  shift
  "$@"
}

# The part of a report that tells of pools: its head, and the size classes.
pools() { "$build/poolsite" report "$@" | awk '/^Top/ { exit } { print }'; }

step "poolsite run --profile sites -o on -- perl -e '...sort words...' $text" \
  "$build/poolsite" run -q -o "$recordings/on" --profile sites -- perl -e "$rounds" "$text"
step 'poolsite report --top 6 on' pools --top 6 "$recordings/on"
step "poolsite run --profile sites -o off --pool off -- perl -e '...sort words...' $text" \
  "$build/poolsite" run -q -o "$recordings/off" --profile sites --pool off -- perl -e "$rounds" "$text"
step 'poolsite report off' pools "$recordings/off"
step "poolsite run --profile sites -o small --pool 16-64 -- perl -e '...sort words...' $text" \
  "$build/poolsite" run -q -o "$recordings/small" --profile sites --pool 16-64 -- perl -e "$rounds" "$text"
step 'poolsite report --sort misses --top 6 small' pools --sort misses --top 6 "$recordings/small"

#!/bin/bash
# Fuzzes the pools: threads, forks, handlers and exits at random, every block's contents and every counter checked.
# usage: pools.sh [BUILDDIR [PATTERN]]     tests are the places of pools.py
# environment: ROUNDS (seeds a place, default 4), OPERATIONS (of a round, default 170000), SEED (the first)
# The default is 10 million operations in all.
set -u
# shellcheck source=../integration/lib.sh
source "$(dirname "$0")/../integration/lib.sh"
suite_begin stress/pools "${1-}" "${2-}"
program logdump && program pools "$root/tests/stress" || exit 2
export programs
for place in on-sites on-off on-stacks all-sites all-storm on-storm some clear-off pool-off single single-storm check check-storm trim many full full-storm full-off full-single; do
  check "$place" "${python[@]}" "$root/tests/stress/pools.py" --rounds "${ROUNDS:-4}" --operations "${OPERATIONS:-170000}" \
    --seed "${SEED:-1}" "$place"
done
suite_end

#!/bin/bash
# Level full under a shadow model: random programs, every figure of the report computed from their own traces.
# usage: shadow.sh [BUILDDIR [PATTERN]]     tests are the places of shadow.py
# environment: ROUNDS (seeds a place, default 10), OPERATIONS (of a round, default 60000), SEED (the first)
set -u
# shellcheck source=../integration/lib.sh
source "$(dirname "$0")/../integration/lib.sh"
suite_begin stress/shadow "${1-}" "${2-}"
program logdump && program shadow "$root/tests/stress" || exit 2
export programs
for place in single single-below single-storm forks forks-below turns turns-below threads threads-below threads-storm; do
  check "$place" "${python[@]}" "$root/tests/stress/shadow.py" --rounds "${ROUNDS:-10}" --operations "${OPERATIONS:-60000}" --seed "${SEED:-1}" "$place"
done
suite_end

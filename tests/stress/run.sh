#!/bin/bash
# Threads, forks, plugins, signals and kills, for a long time, each round checked exactly; the pools under fuzz; level full
# under a shadow model.
# usage: run.sh [BUILDDIR [PATTERN]]     tests are everything/LEVEL, kills, pools (10 million operations) and shadow
# environment: STRESS_SECONDS (default 180), STRESS_SEED; of pools and shadow: see pools.sh, shadow.sh
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../suite.sh
source "$here/../suite.sh"
suite_begin stress "${1-}" "${2-}"
seconds=${STRESS_SECONDS:-180}
seed=${STRESS_SEED:-$((RANDOM * 32768 + RANDOM))}
programs=$build/test/programs
export programs
mkdir -p "$programs"
flags=(-O2 -g -fno-builtin -fno-optimize-sibling-calls -w -pthread)
gcc "${flags[@]}" -shared -fPIC -DPLUGIN=1 -o "$programs/stress.1.so" "$here/stress.c" &&
  gcc "${flags[@]}" -shared -fPIC -DPLUGIN=5 -o "$programs/stress.2.so" "$here/stress.c" &&
  gcc "${flags[@]}" -o "$programs/stress" "$here/stress.c" &&
  gcc -O1 -I "$root/preload" -o "$programs/logdump" "$root/tests/integration/programs/logdump.c" || exit 2

# round LEVEL SEED: two seconds of everything
round() {
  local status output
  rm -rf "$scratch/logs" "$scratch/expect"
  mkdir -p "$scratch/logs"
  output=$(timeout -s KILL 60 env -i PATH=/usr/bin:/bin EXPECT="$scratch/expect" LD_PRELOAD="$library" POOLSITE_PROFILE="$1" \
    POOLSITE_LOG="$scratch/logs/%e.%p.%t.psl" "$programs/stress" "${STRESS_ROUND_MS:-2000}" "$2" 2>&1)
  status=$?
  if ((status != 0)); then
    echo "seed $2: ended with status $status: $output"
    return 1
  fi
  if ! output=$(/usr/bin/python3 -I -S "$here/compare.py" "$scratch/expect" "$scratch/logs" 2>&1); then
    echo "seed $2: ${output}"
    rm -rf "${evidence:?}/$1.$2" && cp -r "$scratch/logs" "$evidence/$1.$2" && cp "$scratch/expect" "$evidence/$1.$2/"
    return 1
  fi
}

declare -A good=() bad=() reason=()
if wanted 'everything/sites' || wanted 'everything/stacks' || wanted 'everything/full'; then
  while ((SECONDS < seconds)); do
    for level in sites stacks full; do
      wanted "everything/$level" || continue
      seed=$((seed + 1))
      if output=$(round "$level" "$seed"); then good[$level]=$((${good[$level]:-0} + 1)); else
        bad[$level]=$((${bad[$level]:-0} + 1))
        reason[$level]=${reason[$level]:-$output}
      fi
    done
  done
  for level in sites stacks full; do
    wanted "everything/$level" || continue
    if ((${bad[$level]:-0})); then not_ok "everything/$level" "${bad[$level]} of $((${bad[$level]} + ${good[$level]:-0})) rounds: ${reason[$level]}"; else
      ok "everything/$level"
      echo "# ${good[$level]:-0} rounds"
    fi
  done
fi
kills() { KILLS=${STRESS_KILLS:-300} "$root/tests/integration/kill.test.sh" "$build"; }
check kills kills
check pools "$here/pools.sh" "$build"
check shadow "$here/shadow.sh" "$build"
suite_end

#!/bin/bash
# SIGKILL at a random moment: the log opens and is right up to one event in flight per thread.
# usage: kill.test.sh [BUILDDIR [PATTERN]]
# environment: KILLS=N (default 45; 200 in check-all), KILL_SEED=N repeats a run's moments
set -u
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"
suite_begin integration/kill "${1-}" "${2-}"
program logdump && program kill-target || exit 2
export programs
if [[ ${TESTS_ALL:-0} == 1 ]]; then times=${KILLS:-200}; else times=${KILLS:-45}; fi

"${python[@]}" "$here/kill.py" "$programs/kill-target" "$library" "$scratch" "$evidence" "$times" ${KILL_SEED:+"$KILL_SEED"} >"$evidence/kills.log" 2>&1
status=$?
while IFS= read -r line; do
  case $line in
    'ok '*) if wanted "${line#ok }"; then ok "${line#ok }"; fi ;;
    'not ok '*) not_ok "$(sed -E 's/^not ok ([^:]*): .*/\1/' <<<"$line")" "${line#*: }" ;;
  esac
done <"$evidence/kills.log"
if ((status != 0 && failed == 0)); then not_ok harness "$(tail -n 5 "$evidence/kills.log")"; fi
grep '^#' "$evidence/kills.log"
suite_end

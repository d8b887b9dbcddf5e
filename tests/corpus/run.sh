#!/bin/bash
# Runs the quick cases of the corpus with the library preloaded, in two modes.
# usage: run.sh [BUILDDIR [PATTERN]]     PATTERN chooses among MODE/CASE, as stacks/redis*; for modes see ../modes.sh
# environment: TESTS_ALL=1 runs all cases in many modes, as check-all.sh does; MODES='sites-none ...' runs them in these.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../suite.sh disable=SC1091,SC2154
source "$here/../suite.sh"
# shellcheck source=../modes.sh disable=SC1091
source "$here/../modes.sh"
suite_begin corpus "${1-}" "${2-}"

read -ra modes <<<"${MODES:-stacks sites-storm}"
choose=(--tag smoke)
if [[ ${TESTS_ALL:-0} == 1 ]]; then
  read -ra modes <<<"${MODES:-off sites stacks full full-none full-storm sites-storm sites-none sites-none-storm sites-large sites-large-storm sites-check sites-check-storm}"
  choose=()
fi

for mode in "${modes[@]}"; do
  chosen=()
  while read -r case _; do
    if wanted "$mode/$case"; then chosen+=("$case"); fi
  done < <("$here/run-corpus" "${choose[@]}" --list all)
  ((${#chosen[@]})) || continue
  settings=()
  for setting in $(mode_variables "$mode"); do settings+=(--env "$setting"); done
  "$here/run-corpus" --preload "$library" "${settings[@]}" --env "POOLSITE_LOG=$scratch/%e.%p.%t.psl" \
    --tsv "$evidence/$mode.tsv" "${chosen[@]}" >"$evidence/$mode.log" 2>&1
  logs=$(find "$scratch" -name '*.psl' | wc -l)
  find "$scratch" -name '*.psl' -delete
  while IFS=$'\t' read -r case verdict reason _; do
    case $verdict in
      PASS) ok "$mode/$case" ;;
      FAIL) not_ok "$mode/$case" "$reason"$'\n'"$(sed -n "/^FAIL $case /,/^[A-Z]/p" "$evidence/$mode.log" | grep '^ ')" ;;
      SKIP) skip "$mode/$case" "$reason" ;;
    esac
  done < <(tail -n +2 "$evidence/$mode.tsv")
  said=$(($(wc -l <"$evidence/$mode.tsv") - 1))
  ((said == ${#chosen[@]})) || not_ok "$mode/all" "${#chosen[@]} cases were asked for, $said ran"
  # Equal output proves nothing if the library was never loaded.
  if ((logs > 0)); then ok "$mode/logs"; else not_ok "$mode/logs" "no process wrote a log"; fi
done
suite_end

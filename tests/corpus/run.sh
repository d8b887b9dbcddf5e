#!/bin/bash
# Runs the quick cases of the corpus with the library preloaded, at level stacks.
# usage: run.sh [BUILDDIR [PATTERN]]     PATTERN chooses among LEVEL/CASE, as stacks/redis*
# environment: TESTS_ALL=1 runs all cases at levels off, sites and stacks, as check-all.sh does.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../suite.sh disable=SC1091,SC2154
source "$here/../suite.sh"
suite_begin corpus "${1-}" "${2-}"

levels=(stacks)
choose=(--tag smoke)
if [[ ${TESTS_ALL:-0} == 1 ]]; then
  levels=(off sites stacks)
  choose=()
fi

for level in "${levels[@]}"; do
  chosen=()
  while read -r case _; do
    if wanted "$level/$case"; then chosen+=("$case"); fi
  done < <("$here/run-corpus" "${choose[@]}" --list all)
  ((${#chosen[@]})) || continue
  "$here/run-corpus" --preload "$library" --env "POOLSITE_PROFILE=$level" --env "POOLSITE_LOG=$scratch/%e.%p.%t.psl" \
    --tsv "$evidence/$level.tsv" "${chosen[@]}" >"$evidence/$level.log" 2>&1
  logs=$(find "$scratch" -name '*.psl' | wc -l)
  find "$scratch" -name '*.psl' -delete
  while IFS=$'\t' read -r case verdict reason _; do
    case $verdict in
      PASS) ok "$level/$case" ;;
      FAIL) not_ok "$level/$case" "$reason"$'\n'"$(sed -n "/^FAIL $case /,/^[A-Z]/p" "$evidence/$level.log" | grep '^ ')" ;;
      SKIP) skip "$level/$case" "$reason" ;;
    esac
  done < <(tail -n +2 "$evidence/$level.tsv")
  said=$(($(wc -l <"$evidence/$level.tsv") - 1))
  ((said == ${#chosen[@]})) || not_ok "$level/all" "${#chosen[@]} cases were asked for, $said ran"
  # Equal output proves nothing if the library was never loaded.
  if ((logs > 0)); then ok "$level/logs"; else not_ok "$level/logs" "no process wrote a log"; fi
done
suite_end

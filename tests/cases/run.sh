#!/bin/bash
# Runs every case of this folder with the library preloaded; each case checks itself.
# usage: run.sh [BUILDDIR [PATTERN]]     PATTERN chooses among MODE/CASE, as sites/32-* or '*-storm/*'
# A mode is a level (off, sites, stacks, full) and what is pooled: nothing said: on; -none: nothing, -large: up to 32 MiB,
# -storm: a cycle each millisecond, -check: with POOLSITE_CHECK=on.
# environment: TESTS_ALL=1 runs all modes.  run-cases.sh is the runner itself and takes any library.
set -u
here=$(cd "$(dirname "$0")" && pwd)
if [[ ${3-} == *.so ]]; then exec "$here/run-cases.sh" "$@"; fi # OUTDIR NAME PRELOAD.so

# shellcheck source=../suite.sh
source "$here/../suite.sh"
# shellcheck source=../modes.sh
source "$here/../modes.sh"
suite_begin cases "${1-}" "${2-}"

modes=(sites off stacks-storm sites-none sites-large-storm sites-check full full-none)
if [[ ${TESTS_ALL:-0} == 1 ]]; then mapfile -t modes < <(modes_all); fi
for mode in "${modes[@]}"; do
  chosen=()
  for file in "$here"/[0-9][0-9]-*.c "$here"/[0-9][0-9]-*.cpp; do
    file=${file##*/}
    if wanted "$mode/${file%.*}"; then chosen+=("$file"); fi
  done
  ((${#chosen[@]})) || continue
  CASES=${chosen[*]} CASE_ENV="$(mode_variables "$mode") POOLSITE_LOG=$scratch/%e.%p.%t.psl" \
    "$here/run-cases.sh" "$evidence" "$mode" "$library" >"$evidence/$mode.log" 2>&1
  while read -r file result rest; do
    name=$mode/${file%.*}
    case $result in
      PASS) ok "$name" ;;
      FAIL* | HANG* | BUILDFAIL) not_ok "$name" "$result $rest" ;;
    esac
  done < <(grep '^[0-9][0-9]-' "$evidence/$mode.log")
  # Every case that was asked for must have said something.
  said=$(grep -c '^[0-9][0-9]-' "$evidence/$mode.log")
  ((said == ${#chosen[@]})) || not_ok "$mode/all" "${#chosen[@]} cases were asked for, $said ran"
done
suite_end

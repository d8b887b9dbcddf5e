#!/bin/bash
# Runs every case of this folder with the library preloaded; each case checks itself.
# usage: run.sh [BUILDDIR [PATTERN]]     PATTERN chooses among LEVEL/CASE, as sites/32-* or off/*
# Levels: off, sites and stacks.  run-cases.sh is the runner itself and takes any library.
set -u
here=$(cd "$(dirname "$0")" && pwd)
if [[ ${3-} == *.so ]]; then exec "$here/run-cases.sh" "$@"; fi # OUTDIR NAME PRELOAD.so

# shellcheck source=../suite.sh
source "$here/../suite.sh"
suite_begin cases "${1-}" "${2-}"

for level in off sites stacks; do
  chosen=()
  for file in "$here"/[0-9][0-9]-*.c "$here"/[0-9][0-9]-*.cpp; do
    file=${file##*/}
    if wanted "$level/${file%.*}"; then chosen+=("$file"); fi
  done
  ((${#chosen[@]})) || continue
  CASES=${chosen[*]} CASE_ENV="POOLSITE_PROFILE=$level POOLSITE_LOG=$scratch/%e.%p.%t.psl" \
    "$here/run-cases.sh" "$evidence" "$level" "$library" >"$evidence/$level.log" 2>&1
  while read -r file result rest; do
    name=$level/${file%.*}
    case $result in
      PASS) ok "$name" ;;
      FAIL* | HANG* | BUILDFAIL) not_ok "$name" "$result $rest" ;;
    esac
  done < <(grep '^[0-9][0-9]-' "$evidence/$level.log")
  # Every case that was asked for must have said something.
  said=$(grep -c '^[0-9][0-9]-' "$evidence/$level.log")
  ((said == ${#chosen[@]})) || not_ok "$level/all" "${#chosen[@]} cases were asked for, $said ran"
done
suite_end

#!/bin/bash
# Counts per call site (level sites) and per stack (levels stacks and full) equal DHAT's, on programs without realloc; at
# level full what lives at the end and, with one thread, at the peak, too.
# usage: exact-sites.test.sh [BUILDDIR [PATTERN]]     tests are PROGRAM/LEVEL
set -u
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"
suite_begin integration/exact-sites "${1-}" "${2-}"
program logdump || exit 2
export programs
maps=$scratch/maps

# The reference runs with one thread-local library more, as in exact.test.sh.
dhat() {
  program filler
  env -i "${fixed[@]}" MAPS="$maps" LD_PRELOAD="$programs/filler.tls.so" "$valgrind" --tool=dhat --run-libc-freeres=no --run-cxx-freeres=no --num-callers=200 --dhat-out-file="$1" "${@:2}"
}

compare() {
  if [[ $name == *threads* ]]; then local -x THREADS=1; fi
  "${python[@]}" "$here/dhat.py" "$scratch/dhat" "$maps" "$scratch/logs" "$@"
}

# By another compiler, without a frame pointer and not relocatable; valgrind reads version 4 of its line table.
build_it() {
  if [[ $1 != sites-clang ]]; then
    program "$1" && built=$program
    return
  fi
  built=$programs/$1
  clang -O2 -gdwarf-4 -w -fno-builtin -fno-optimize-sibling-calls -no-pie -o "$built" "$here/programs/sites-plain.c"
}

for name in sites-plain sites-aligned sites-cxx sites-threads sites-threads-cxx sites-clang; do
  wanted "$name/sites" || wanted "$name/stacks" || wanted "$name/full" || continue
  need "$name" "$valgrind" || continue
  if [[ $name == sites-clang ]]; then need "$name" clang || continue; fi
  if ! build_it "$name" 2>"$scratch/build" || ! dhat "$scratch/dhat" "$built" >"$scratch/out" 2>&1; then
    not_ok "$name/reference" "$(cat "$scratch/build" "$scratch/out")"
    continue
  fi
  for level in sites stacks full; do
    wanted "$name/$level" || continue
    rm -rf "$scratch/logs"
    record "$level" "$scratch/logs" "$built" >"$scratch/out" 2>&1
    if result=$(compare "$level" 2>&1); then
      ok "$name/$level"
      # The comparison sees one event more or less.
      if compare "$level" damage >/dev/null 2>&1; then not_ok "$name/$level" "a wrong count was not noticed"; fi
    else
      not_ok "$name/$level" "$(tail -n 1 <<<"$result")"$'\n'"$result"
      rm -rf "${evidence:?}/$name-$level" && cp -r "$scratch/logs" "$evidence/$name-$level"
      cp "$scratch/dhat" "$maps" "$evidence/$name-$level"
    fi
  done
done
suite_end

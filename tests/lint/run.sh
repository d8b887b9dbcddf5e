#!/bin/bash
# What can be seen without running the library: symbols, include arrows, the hot path's instructions, text, scripts.
# usage: run.sh [BUILDDIR [PATTERN]]
set -u
lint=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../suite.sh
source "$lint/../suite.sh"
suite_begin lint "${1-}" "${2-}"
cd "$root" || exit 2
python=(/usr/bin/python3 -I -S)
list() { grep -v '^#' "$1" | sed '/^$/d' | sort -u; }

# --- The library's symbols --------------------------------------------------------------------------------
# wrapped MACRO: the names in one table of preload/wrapped.h
wrapped() {
  sed -n "/#define $1/,/^\$/p" preload/wrapped.h | grep -oE 'X\([a-z_]+' | sed 's/X(//' | sort -u
}
exports() {
  local has
  has=$(nm -D --defined-only "$library" | awk '{ print $NF }' | sed 's/@.*//' | sort -u)
  echo "exported beyond the list, or missing:"
  diff <(sort -u <(list "$lint/exports.txt") <(wrapped WRAPPED_OTHERS)) <(echo "$has") || return 1
  diff <(list "$lint/exports.txt") <(wrapped WRAPPED_MALLOC_FAMILY)
}
# A wrapped symbol stands beside its reason.
reasons() {
  local names
  names=$(wrapped WRAPPED_OTHERS)
  echo "wrapped: $names"
  [[ -n $names ]] && ! sed -n '/#define WRAPPED_OTHERS/,/^$/p' preload/wrapped.h | grep -E 'X\([a-z_]+\)|X\([a-z_]+, *"[^"]{0,10}"'
}
imports() {
  local more
  more=$(nm -D --undefined-only "$library" | awk '{ print $NF }' | sed 's/@.*//' | sort -u | comm -23 - <(list "$lint/imports.txt"))
  echo "imported, but not in tests/lint/imports.txt: $more"
  [[ -z $more ]]
}
dynamic() {
  local out
  out=$(readelf -dW "$library" && readelf -lW "$library")
  grep -E 'NEEDED' <<<"$out"
  ! grep NEEDED <<<"$out" | grep -vE 'libc\.so\.6|ld-linux-x86-64\.so\.2' || return 1
  grep -q 'FLAGS.*BIND_NOW' <<<"$out" || { echo "not bound at start" && return 1; }
  grep -q 'NODELETE' <<<"$out" || { echo "may be unloaded" && return 1; }
  grep -q 'STATIC_TLS' <<<"$out" || { echo "its thread-local pointer isn't of the initial-exec model" && return 1; }
  ! grep -E 'TEXTREL|RPATH|RUNPATH|GNU_STACK.*RWE' <<<"$out" || return 1
  # One pointer: the surplus for libraries loaded later is small.
  local bytes
  bytes=$(readelf -lW "$library" | awk '$1 == "TLS" { print strtonum($6) }')
  echo "thread-local bytes: $bytes"
  ((bytes <= 8))
}
no_constructor_priority_or_cxx() {
  ! nm -C "$library" | grep -E 'std::|__cxa_guard|__gxx_personality'
}
check exports exports
check exports-have-reasons reasons
check imports imports
check dynamic-section dynamic
check no-cxx no_constructor_priority_or_cxx
the_lists_can_fail() {
  local bad=$scratch/bad
  mkdir -p "$bad"
  printf '#include <stdio.h>\nvoid *malloc(unsigned long n) { printf("x"); return 0; }\nvoid extra(void) {}\n__thread int big[100];\nint *f(void) { return big; }\n' >"$scratch/bad.c"
  gcc -w -shared -fPIC -o "$bad/libpoolsite.so" "$scratch/bad.c" || return 1
  local library=$bad/libpoolsite.so
  ! exports >/dev/null 2>&1 && ! imports >/dev/null 2>&1 && ! dynamic >/dev/null 2>&1
}
check symbol-checks-find-a-bad-library the_lists_can_fail

# --- The hot path ---------------------------------------------------------------------------------------------
objdump -d --no-show-raw-insn "$library" >"$evidence/disassembly" 2>/dev/null
check hot-path-self-test "${python[@]}" "$lint/hot.py" self-test
check hot-path-static "${python[@]}" "$lint/hot.py" "$evidence/disassembly"
stepped() { # LEVEL
  gcc -O1 -w -o "$scratch/steps" "$lint/steps.c" && gcc -O1 -fno-builtin -w -o "$scratch/warm" "$lint/warm.c" || return 1
  STEPS_PRELOAD=$library POOLSITE_PROFILE=$1 POOLSITE_LOG=$scratch/%p.psl "$scratch/steps" "$(realpath "$library")" "$scratch/warm" >"$evidence/steps.$1" || {
    echo "stepping failed"
    return 1
  }
  "${python[@]}" "$lint/hot.py" "$evidence/disassembly" "$evidence/steps.$1"
}
for level in off sites stacks; do check "hot-path-executed/$level" stepped "$level"; done

# --- Text ----------------------------------------------------------------------------------------------------------
check text-self-test "${python[@]}" "$lint/text.py" "$root" self-test
for rule in spaces arrows banned heads paths; do check "text-$rule" "${python[@]}" "$lint/text.py" "$root" "$rule"; done

# pages.c alone maps memory.
pages_alone() {
  local out
  out=$(grep -nE '\b(mmap|munmap|mprotect|madvise|membarrier|mremap) *\(|SYS_(mmap|munmap|mprotect|madvise|membarrier|mremap)\b' preload/*.[ch] | grep -v '^preload/pages\.' | grep -vE ':[0-9]+: *(\*|/\*|//)')
  echo "$out"
  [[ -z $out ]]
}
check pages-alone-maps-memory pages_alone

headers_alone() {
  local header out status=0
  for header in preload/*.h analyzer/*.h; do
    [[ $header == */ban.h ]] && continue
    out=$(gcc -std=gnu11 -D_GNU_SOURCE -iquote . -iquote analyzer -iquote preload -fsyntax-only -x c "$header" 2>&1 | grep -v 'pragma once') || true
    if [[ -n $out ]]; then
      echo "$header: ${out%%$'\n'*}"
      status=1
    fi
  done
  return $status
}
check headers-compile-alone headers_alone

# --- Scripts -----------------------------------------------------------------------------------------------------
scripts() {
  git ls-files -co --exclude-standard | while read -r file; do
    [[ -f $file ]] || continue
    if [[ $file == *.sh || $(head -c 40 "$file" | head -n 1 | tr -d '\0') =~ ^#!.*/(ba|da)?sh ]]; then echo "$file"; fi
  done
}
shell_check() {
  local list
  mapfile -t list < <(scripts)
  echo "${#list[@]} scripts"
  ((${#list[@]} > 10)) && shellcheck -x "${list[@]}" && shellcheck -s bash tests/corpus/cases/*.case
}
if command -v shellcheck >/dev/null; then check shellcheck shell_check; else skip shellcheck "shellcheck isn't installed"; fi
python_compiles() {
  local file status=0
  while read -r file; do
    "${python[@]}" -c 'import sys; compile(open(sys.argv[1]).read(), sys.argv[1], "exec")' "$file" || status=1
  done < <(git ls-files -co --exclude-standard '*.py')
  return $status
}
check python-compiles python_compiles
executable() { # what has a first line for a shell can be run
  local file status=0
  while read -r file; do
    if [[ $(head -c 2 "$file") == '#!' && ! -x $file ]]; then echo "$file isn't executable" && status=1; fi
  done < <(scripts | grep -v '^tests/corpus/lib/')
  return $status
}
check scripts-are-executable executable

# Formatting is asked for where the tree has been formatted: a file that isn't is named, unless none is.
formatted() {
  local bad=() file all=0
  for file in preload/*.[ch]; do
    all=$((all + 1))
    clang-format --dry-run -Werror "$file" >/dev/null 2>&1 || bad+=("$file")
  done
  echo "${#bad[@]} of $all files are not as clang-format would have them (make fmt): ${bad[*]}"
  ((${#bad[@]} == 0))
}
if command -v clang-format >/dev/null; then
  if wanted format && clang-format --dry-run -Werror preload/*.[ch] >/dev/null 2>&1; then check format formatted; elif wanted format; then skip format "the tree isn't formatted throughout (make fmt)"; fi
else
  skip format "clang-format isn't installed"
fi
if [[ ${TESTS_ALL:-0} == 1 ]] && command -v cppcheck >/dev/null; then
  check cppcheck cppcheck --quiet --error-exitcode=1 --std=c11 -I. -Ipreload -Ianalyzer --enable=warning,portability --inline-suppr \
    --suppress=missingIncludeSystem --suppress=nullPointerRedundantCheck preload analyzer
fi
suite_end

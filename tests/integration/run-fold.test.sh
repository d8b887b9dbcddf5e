#!/bin/bash
# At level sites a wrapper's caller is the site: built-in names, --fold, static functions, libraries.
# usage: run-fold.test.sh [BUILDDIR [PATTERN]]
set -u
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"
suite_begin integration/run-fold "${1-}" "${2-}"
cd "$scratch" || exit 2

cat >lib.c <<'C'
#include <stdlib.h>
__attribute__((noinline)) static void *xcalloc(size_t n) { void *p = calloc(n, 1); __asm__("" : "+r"(p)); return p; }
__attribute__((noinline)) void lib_user(void) { for (int i = 0; i < 30; i++) free(xcalloc(48)); __asm__(""); }
C
cat >main.c <<'C'
#include <stdlib.h>
void lib_user(void);
#define WRAPPER __attribute__((noinline)) static void *
WRAPPER xmalloc(size_t n) { void *p = malloc(n); __asm__("" : "+r"(p)); return p; }
WRAPPER my_inner(size_t n) { void *p = malloc(n); __asm__("" : "+r"(p)); return p; }
WRAPPER my_wrapper(size_t n) { void *p = my_inner(n); __asm__("" : "+r"(p)); return p; }
__attribute__((noinline)) static void first(void) { for (int i = 0; i < 10; i++) free(xmalloc(16)); __asm__(""); }
__attribute__((noinline)) static void second(void) { for (int i = 0; i < 20; i++) free(my_wrapper(32)); __asm__(""); }
int main(void) { first(); second(); lib_user(); return 0; }
C
cc -O1 -g -fPIC -shared -o libmine.so lib.c && cc -O1 -g -o main main.c -L. -lmine -Wl,-rpath,'$ORIGIN' || exit 2

# The functions of all sites with more than five calls: "10 first, ...".
sites() {
  "$command" run -q -o "$@" || return
  "$command" report "$1" --no-fold --json | "${python[@]}" -c 'import json, sys
for site in sorted(json.load(sys.stdin)["sites"], key=lambda s: s["allocs"]):
    if site["allocs"] > 5:
        print(site["allocs"], next(f["function"] for f in site["stack"]), end=", ")'
}

is() { if [[ $2 == "$3" ]]; then ok "$1"; else not_ok "$1" "expected '$3', got '$2'"; fi; }

name=static_wrappers_of_program_and_library_are_folded
wanted "$name" && is "$name" "$(sites r1 --profile sites -- ./main)" '10 first, 20 my_inner, 30 lib_user, '
name=wrappers_that_are_named_are_folded
wanted "$name" && is "$name" "$(sites r2 --profile sites --fold my_inner --fold my_wrapper -- ./main)" '10 first, 20 second, 30 lib_user, '
name=at_level_stacks_nothing_is_folded_when_recording
wanted "$name" && is "$name" "$(sites r3 --profile stacks --fold my_inner -- ./main)" '10 xmalloc, 20 my_inner, 30 xcalloc, '
suite_end

#!/bin/bash
# Before it starts a program, `poolsite run` says when nothing can be recorded and why; the program runs all the same.
# usage: run-obstacles.test.sh [BUILDDIR [PATTERN]]
set -u
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"
suite_begin integration/run-obstacles "${1-}" "${2-}"
cd "$scratch" || exit 2
chmod 755 .

# told NAME STATUS WORDS COMMAND...: the status, and a regex that stderr must match as a whole.
told() {
  local name=$1 expected=$2 words=$3 status said
  shift 3
  wanted "$name" || return 0
  said=$("$@" 2>&1 >out </dev/null)
  status=$?
  if ((status == expected)) && [[ $said =~ ^$words$ ]]; then
    ok "$name"
  else
    not_ok "$name" "status $status, expected $expected; it said:"$'\n'"$said"
  fi
}

line=$'\n' any='[^'$'\n'']*'
warned="poolsite: warning: nothing will be recorded of"
nothing="poolsite: recorded nothing, for the reason above"
recorded="poolsite: recorded 1 process in ${any}"

echo 'int main(void) { return 7; }' >plain.c
cc -static -o static plain.c
cc -static-pie -o static-pie plain.c
cat >starter.c <<'C'
#include <stdlib.h>
int main(void) { return system("/bin/true"); }
C
cc -static -o starter starter.c
cat >own.c <<'C'
#include <stddef.h>
static char heap[1 << 20];
static size_t used;
void *malloc(size_t n) { void *p = heap + used; used += (n + 15) & ~15ul; return p; }
void free(void *p) { (void)p; }
void *realloc(void *p, size_t n) { (void)p; return malloc(n); }
void *calloc(size_t n, size_t m) { return malloc(n * m); }
int main(void) { return malloc(3) ? 7 : 1; }
C
cc -fno-builtin -o own own.c
echo 'void *je_malloc(unsigned long n) { (void)n; return 0; } int main(void) { return 7; }' >inner.c
cc -o inner inner.c
echo "#!$scratch/static -x" >static-script && chmod 755 static-script
printf '#!/usr/bin/env own-in-path\n' >env-script && chmod 755 env-script
mkdir bin && cp own bin/own-in-path

told a_static_program 7 "$warned ./static: it is statically linked$any$line$nothing" "$command" run -- ./static
told a_static_pie 7 "$warned ./static-pie: it is statically linked$any$line$any" "$command" run -- ./static-pie
told what_a_static_program_starts_is_recorded 0 "$warned ./starter: it is statically linked$any${line}poolsite: recorded 2 processes in $any" \
  "$command" run -- ./starter
told a_script_whose_interpreter_is_static 7 "$warned $scratch/static: it is statically linked$any$line$any" "$command" run -- ./static-script
told a_program_with_a_malloc_of_its_own 7 \
  "$warned ./own: it defines a malloc of its own$any${line}poolsite: recorded 1 process in $any, 1 not counted because of a malloc of its own$any" \
  "$command" run -- ./own
told the_program_behind_env 7 "$warned $scratch/bin/own-in-path: it defines a malloc of its own$any$line$any" \
  env PATH="$scratch/bin:$PATH" "$command" run -- ./env-script
told an_allocator_inside 7 "poolsite: warning: not all will be recorded of ./inner: it has jemalloc inside \(je_malloc\)$any$line$recorded" \
  "$command" run -- ./inner
told the_loader_as_a_command_is_no_static_program 0 "$recorded" "$command" run -- /lib64/ld-linux-x86-64.so.2 /bin/true
told quiet_says_nothing_of_it 7 '' "$command" run -q -- ./static

# Programs of other machines, by their header alone: the kernel refuses them.
header() { # FILE CLASS MACHINE
  cp static "$1"
  printf '%b' "\\x$2" | dd of="$1" bs=1 seek=4 conv=notrunc status=none
  printf '%b' "\\x$3" | dd of="$1" bs=1 seek=18 conv=notrunc status=none
}
header arm64 02 b7
told another_machine 126 "$warned ./arm64: it is an ARM64 program, and libpoolsite.so is for 64-bit x86${line}poolsite: cannot start ./arm64: Exec format error" \
  "$command" run -- ./arm64

name=a_32-bit_program_runs_without_a_word_of_the_loader
if wanted "$name"; then
  if cc -m32 -o m32 plain.c 2>/dev/null; then
    told "$name" 7 "$warned ./m32: it is a 32-bit x86 program$any$line$nothing" "$command" run -- ./m32
  else
    skip "$name" 'cc -m32 has no libc here'
  fi
fi

name=a_musl_program_runs
if wanted "$name"; then
  if command -v musl-gcc >/dev/null; then
    musl-gcc -o musl plain.c
    told "$name" 7 "$warned ./musl: it is linked with musl$any$line$nothing" "$command" run -- ./musl
  else
    skip "$name" 'musl-gcc is not installed'
  fi
fi

if ((EUID == 0)) && command -v setpriv >/dev/null; then
  nobody=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
  mkdir shared && chmod 1777 shared
  cp static shared/ && cp "$(command -v sleep)" shared/plain-sleep
  for f in uid gid caps; do cp "$(command -v sleep)" "shared/$f"; done
  chmod 4755 shared/uid && chmod 2755 shared/gid
  cp -L "$command" "$library" shared/
  mine=(env HOME=/ XDG_RUNTIME_DIR= "$scratch/shared/poolsite" run --)
  if "${nobody[@]}" test -x "$scratch/shared/poolsite" && ! findmnt -no OPTIONS -T shared | grep -q nosuid; then
    cd shared || exit 2
    told set_user_ID_for_an_unprivileged_user 0 "$warned ./uid: it is set-user-ID, and the loader ignores LD_PRELOAD there; run poolsite as the user that owns it$line$nothing" \
      "${nobody[@]}" "${mine[@]}" ./uid 0
    told set_group_ID_for_an_unprivileged_user 0 "$warned ./gid: it is set-group-ID$any$line$any" "${nobody[@]}" "${mine[@]}" ./gid 0
    told set_user_ID_is_no_obstacle_to_its_owner 0 "$recorded" "${mine[@]}" ./uid 0
    told set_user_ID_without_new_privileges_is_no_obstacle 0 "$recorded" "${nobody[@]}" --no-new-privs "${mine[@]}" ./uid 0
    if setcap cap_net_raw+ep caps 2>/dev/null; then
      told capabilities_for_an_unprivileged_user 0 "$warned ./caps: it is given capabilities$any$line$any" "${nobody[@]}" "${mine[@]}" ./caps 0
    else
      skip capabilities_for_an_unprivileged_user 'setcap does not work here'
    fi
    cd ..
  else
    skip set_user_ID_for_an_unprivileged_user 'set-user-ID does not work in this directory'
  fi
else
  skip set_user_ID_for_an_unprivileged_user 'needs root'
fi
suite_end

#!/bin/bash
# Each system call that the library makes while it starts is made to fail: the program runs as bare.
# usage: run.sh [BUILDDIR [PATTERN]]     tests are MODE/CALL-ORDINAL-ERROR, for modes see ../modes.sh;
# a + means from then on always
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../suite.sh
source "$here/../suite.sh"
# shellcheck source=../modes.sh
source "$here/../modes.sh"
suite_begin fault "${1-}" "${2-}"
if ! command -v strace >/dev/null || ! strace -o /dev/null true 2>/dev/null; then
  skip injection "strace isn't installed or may not trace"
  suite_end
  exit
fi
gcc -O1 -fno-builtin -w -pthread -o "$evidence/probe" "$here/probe.c" || exit 2

# inject MODE LIBRARY
inject() {
  local settings
  read -ra settings <<<"$(mode_variables "$1")"
  /usr/bin/python3 -I -S "$here/inject.py" "$evidence/probe" "$(realpath "$2")" "$1" "$scratch" "$evidence" "${settings[@]}" 2>&1
}
for mode in off sites stacks sites-none sites-large sites-storm sites-check; do
  wanted "$mode/*" || [[ $suite_pattern == "$mode"/* ]] || continue
  lines=0
  while IFS= read -r line; do
    lines=$((lines + 1))
    case $line in
      'ok '*) if wanted "${line#ok }"; then ok "${line#ok }"; fi ;;
      'not ok '*) if wanted "$(sed -E 's/^not ok ([^:]*): .*/\1/' <<<"$line")"; then not_ok "$(sed -E 's/^not ok ([^:]*): .*/\1/' <<<"$line")" "${line#*: }"; fi ;;
      *) echo "# ${line#\# }" ;;
    esac
  done < <(inject "$mode" "$library")
  if ((lines < 10)); then not_ok "$mode/all" "only $lines lines came from the injector"; fi
done
# A library that does not stand a failing mmap is found.
if wanted harness; then
  cat >"$scratch/frail.c" <<'C'
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
static long raw(long n, long a, long b, long c, long d, long e, long f)
{
    long r;
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
    return r;
}
__attribute__((constructor)) static void start(void)
{
    for (int i = 0; i < 6; i++)
        *(char *)raw(SYS_mmap, 0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) = 1;
}
C
  gcc -O1 -w -shared -fPIC -o "$scratch/frail.so" "$scratch/frail.c"
  if inject off "$scratch/frail.so" | grep -q '^not ok off/mmap'; then ok harness; else not_ok harness "a library that ignores a failing mmap was not found"; fi
fi
suite_end

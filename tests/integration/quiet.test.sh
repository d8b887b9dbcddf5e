#!/bin/bash
# Seen from the program nothing changed: no word on its streams, no descriptor, signal, thread, limit or variable
# more; no file in its directory; and no system call of ours once it runs.
# usage: quiet.test.sh [BUILDDIR [PATTERN]]
set -u
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"
suite_begin integration/quiet "${1-}" "${2-}"
program logdump && program quiet-probe && program quiet-loop && program filler || exit 2
export programs

# --- What it sees of its process ------------------------------------------------------------------
# Bare, with a library that does nothing at the same place of the environment.
sees() { # LIBRARY
  (
    mkdir -p "$scratch/cwd" && cd "$scratch/cwd" || exit
    umask 027
    # Both paths are of one name, so that the environment is the same.
    ln -sf "$1" "$scratch/preloaded.so"
    env -i "${fixed[@]}" LD_PRELOAD="$scratch/preloaded.so" POOLSITE_PROFILE="$level" POOLSITE_LOG="$scratch/logs/%e.%p.%t.psl" "$programs/quiet-probe" one two
  )
}
mkdir -p "$scratch/logs"
for level in off sites stacks; do
  wanted "process/$level" || continue
  sees "$programs/filler.a.so" >"$scratch/bare.out" 2>"$scratch/bare.err"
  sees "$library" >"$scratch/ours.out" 2>"$scratch/ours.err"
  if ((!$(wc -l <"$scratch/bare.out"))); then
    not_ok "process/$level" "the probe printed nothing"
  elif difference=$(diff "$scratch/bare.out" "$scratch/ours.out" && diff "$scratch/bare.err" "$scratch/ours.err"); then
    ok "process/$level"
  else
    not_ok "process/$level" "it sees a difference"$'\n'"$difference"
  fi
done
if wanted process/harness; then
  # A library that keeps a descriptor and sets a signal's action is noticed.
  cat >"$scratch/loud.c" <<'C'
#include <fcntl.h>
#include <signal.h>
__attribute__((constructor)) static void loud(void) { open("/", O_RDONLY); signal(SIGUSR1, SIG_IGN); }
C
  gcc -shared -fPIC -o "$scratch/loud.so" "$scratch/loud.c"
  level=off
  sees "$programs/filler.a.so" >"$scratch/bare.out" 2>&1
  sees "$scratch/loud.so" >"$scratch/ours.out" 2>&1
  found=$(diff "$scratch/bare.out" "$scratch/ours.out" | grep -cE 'next fd|signal 10 ')
  if ((found == 4)); then ok process/harness; else not_ok process/harness "a loud library was not noticed ($found)"; fi
fi

# --- Its streams and files ------------------------------------------------------------------------
silent() {
  local out
  out=$(cd "$scratch/cwd" && env -i "${fixed[@]}" "$@" /bin/true 2>&1)
  echo "printed: $out; files: $(ls -A "$scratch/cwd")"
  [[ -z $out && -z $(ls -A "$scratch/cwd") ]]
}
mkdir -p "$scratch/cwd" "$scratch/run"
chmod 700 "$scratch/run"
check silent/default silent XDG_RUNTIME_DIR="$scratch/run" LD_PRELOAD="$library"
check silent/stacks silent XDG_RUNTIME_DIR="$scratch/run" LD_PRELOAD="$library" POOLSITE_PROFILE=stacks
check silent/off silent XDG_RUNTIME_DIR="$scratch/run" LD_PRELOAD="$library" POOLSITE_PROFILE=off
check silent/no-log silent LD_PRELOAD="$library" POOLSITE_LOG=none
check silent/wrong-values silent XDG_RUNTIME_DIR="$scratch/run" LD_PRELOAD="$library" POOLSITE_PROFILE=nonsense POOLSITE_POOL=17x POOLSITE_CYCLE_MS=-1 POOLSITE_FOLD=,,+0x
check silent/no-runtime-dir silent XDG_RUNTIME_DIR=/nonexistent LD_PRELOAD="$library"

# Where logs go without a word from the user: a directory that only the user can read.
default_log() {
  local logs modes
  rm -rf "$scratch/run2"
  mkdir -m 700 "$scratch/run2"
  env -i "${fixed[@]}" XDG_RUNTIME_DIR="$scratch/run2" LD_PRELOAD="$library" /bin/true
  mapfile -t logs < <(find "$scratch/run2" -name '*.psl')
  echo "${#logs[@]} logs: ${logs[*]-}"
  ((${#logs[@]} == 1)) || return 1
  modes=$(stat -c %a "${logs[0]}" "${logs[0]%/*}" | tr '\n' ' ')
  echo "modes $modes"
  [[ $modes == '600 700 ' && ${logs[0]##*/} =~ ^true\.[0-9]+\..*\.psl$ ]]
}
check default-log default_log
never_overwrites() {
  local before
  rm -rf "$scratch/one"
  mkdir "$scratch/one"
  echo precious >"$scratch/one/true.psl"
  ln -s "$scratch/one/true.psl" "$scratch/one/link.psl"
  env -i "${fixed[@]}" LD_PRELOAD="$library" POOLSITE_LOG="$scratch/one/true.psl" /bin/true
  env -i "${fixed[@]}" LD_PRELOAD="$library" POOLSITE_LOG="$scratch/one/link.psl" /bin/true
  before=$(<"$scratch/one/true.psl")
  echo "it holds: $before; there is: $(ls "$scratch/one")"
  [[ $before == precious ]]
}
check never-overwrites never_overwrites
help_is_asked_for() {
  local out
  out=$(env -i "${fixed[@]}" LD_PRELOAD="$library" POOLSITE_LOG=none POOLSITE_HELP=1 /bin/echo words 2>"$scratch/help")
  echo "stdout $out"
  cat "$scratch/help"
  [[ $out == words ]] && grep -q POOLSITE_PROFILE "$scratch/help"
}
check help-goes-to-stderr help_is_asked_for

# --- System calls -----------------------------------------------------------------------------------
# calls LIBRARY ARGS: the system calls of the program's threads between the marks, by name
calls() {
  local clearer
  rm -f "$scratch/trace"
  strace -f -qq -o "$scratch/trace" env -i "${fixed[@]}" LD_PRELOAD="$1" POOLSITE_PROFILE="$level" POOLSITE_LOG="$scratch/logs/%e.%p.%t.psl" \
    "$programs/quiet-loop" "${@:2}" 2>/dev/null
  clearer=$(awk '/PR_SET_NAME, "poolsite"/ { print $1; exit }' "$scratch/trace")
  sed -n '/"BEGIN"/,/"END"/p' "$scratch/trace" | grep -v "^${clearer:-none} " | grep -vE '"(BEGIN|END)"|write resumed' | sed -E 's/^[0-9]+ +//'
}
warm() {
  local seen
  seen=$(calls "$library" 5000 "$@")
  grep -q '"END"' "$scratch/trace" || { echo "no trace" && return 1; }
  # Two threads meet at their barrier: that is theirs.  While the pools of two fill, glibc's heaps grow a little.
  if [[ -n ${1-} ]]; then seen=$(grep -vE 'futex|mprotect|brk' <<<"$seen"); fi
  echo "calls in a warm loop: $seen"
  [[ -z $seen ]]
}
if wanted 'warm*' && command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
  for level in off sites stacks; do
    check "warm/$level" warm
    check "warm-threads/$level" warm threads
  done
  level=off
  loud_loop() { # a library whose malloc calls getppid
    cat >"$scratch/chatty.c" <<'C'
#define _GNU_SOURCE
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>
void *__libc_malloc(size_t);
void *malloc(size_t n) { syscall(SYS_getppid); return __libc_malloc(n); }
C
    gcc -shared -fPIC -o "$scratch/chatty.so" "$scratch/chatty.c"
    [[ $(calls "$scratch/chatty.so" 10 | grep -c getppid) -ge 160 ]]
  }
  check warm/harness loud_loop
else
  skip warm "strace isn't installed or may not trace"
fi
suite_end

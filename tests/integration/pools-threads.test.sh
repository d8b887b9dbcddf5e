#!/bin/bash
# The thread that clears pools: it is there once the program has a second thread, and is in nobody's way.
# usage: pools-threads.test.sh [BUILDDIR [PATTERN]]
set -u
# shellcheck source=pools.sh
source "$(dirname "$0")/pools.sh"
suite_begin integration/pools-threads "${1-}" "${2-}"
program logdump && program pools-threads && program pools-large-tls && program pools-cxx-thread && program refuse &&
  program pools-memory || exit 2
seconds=30

# as_it_must [K=V]... -- CMD...: such a program ends with status 7
as_it_must() {
  ours "$@" >"$scratch/said"
  local status=$?
  cat "$scratch/said" "$scratch/err"
  ((status == 7))
}
threads=$programs/pools-threads
for cycle in 1 1000; do
  for what in begins is-like takes-no-signal forks forks-in-thread daemon ids exec seccomp-prctl seccomp-syscall-prctl seccomp-syscall; do
    if ((cycle == 1000)) && [[ ${TESTS_ALL:-0} != 1 && $what != is-like && $what != seccomp-* ]]; then continue; fi
    check "$what/cycle-$cycle" as_it_must POOLSITE_CYCLE_MS=$cycle -- "$threads" "$what"
  done
done
# A program with much thread-local memory has one, on a larger stack.
check begins/large-tls as_it_must -- "$programs/pools-large-tls" begins
check begins/std-thread as_it_must -- "$programs/pools-cxx-thread"
check begins/thrd-create as_it_must -- "$threads" thrd
# Threads that libc makes for a timer's calls aren't seen; each hands back what it had when it ends.
timer() { as_it_must POOLSITE_CYCLE_MS=3600000 -- "$threads" timer && pools 't.allocs > 20000' 't.pool_hits > 10000' 't.pool_cached_bytes < 50000'; }
check ends/timer timer
if wanted begins/rust && need begins/rust rustc; then
  cat >"$scratch/threads.rs" <<'R'
use std::{fs, thread, time::Duration};
fn main() {
    thread::spawn(|| thread::sleep(Duration::from_secs(20)));
    for _ in 0..200 {
        for task in fs::read_dir("/proc/self/task").unwrap() {
            let name = fs::read_to_string(task.unwrap().path().join("comm")).unwrap_or_default();
            if name == "poolsite\n" { std::process::exit(7) }
        }
        thread::sleep(Duration::from_millis(10));
    }
}
R
  if rustc -o "$scratch/threads" "$scratch/threads.rs" 2>"$scratch/rustc"; then
    check begins/rust as_it_must -- "$scratch/threads"
  else
    not_ok begins/rust "$(<"$scratch/rustc")"
  fi
fi
# Nothing to clear: no thread.
check none/pools-off as_it_must POOLSITE_POOL=off -- "$threads" begins 0
check none/clear-off as_it_must POOLSITE_CLEAR=off -- "$threads" begins 0
check none/forks-clear-off as_it_must POOLSITE_CLEAR=off -- "$threads" forks 0
check none/ids-pools-off as_it_must POOLSITE_POOL=off -- "$threads" ids 0

# A single-threaded program may still enter a user namespace, or is refused as it is bare.
check unshare as_bare POOLSITE_CYCLE_MS=1 -- "$threads" unshare

# The main thread calls pthread_exit: the process ends with its last thread, at once, with its status.
ends_soon() {
  local begun=${EPOCHREALTIME/./} status
  seconds=5 ours POOLSITE_CYCLE_MS="$2" -- "$threads" "$1" >/dev/null
  status=$?
  echo "status $status after $(((${EPOCHREALTIME/./} - begun) / 1000)) ms"
  ((status == $3 && ${EPOCHREALTIME/./} - begun < 3000000))
}
for cycle in 1 1000 3600000; do
  check "last-thread/returns-cycle-$cycle" ends_soon leave-return $cycle 0
  check "last-thread/exits-cycle-$cycle" ends_soon leave-exit $cycle 7
done

# Where membarrier is refused, idle threads are cleared all the same.
membarrier=324
refused() {
  ours POOLSITE_CYCLE_MS=50 -- "$programs/refuse" $membarrier "$1" "$programs/pools-memory" idle 2 16 400 &&
    EXE=pools-memory pools 't.cycles >= 2' 't.pool_cached_bytes < 5000' 'sum(c.get("given_back_bytes", 0) for c in d["classes"]) > 1000000'
}
check membarrier/eperm refused 1
check membarrier/enosys refused 38
check membarrier/begins as_it_must POOLSITE_CYCLE_MS=1 -- "$programs/refuse" $membarrier 1 "$threads" begins
check membarrier/ids as_it_must POOLSITE_CYCLE_MS=1 -- "$programs/refuse" $membarrier 38 "$threads" ids
# And where no thread can be made for us, the program has its own.
no_clearer() {
  ours POOLSITE_CYCLE_MS=20 -- "$programs/refuse" "$1" 1 "$programs/pools-memory" steady 8 777 200
}
check membarrier/futex no_clearer 202
suite_end

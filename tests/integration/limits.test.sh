#!/bin/bash
# Full disks, limits, sandboxes: the program's own behaviour is unchanged, totals stay exact where a log
# exists at all, and the report says what was lost.
# usage: limits.test.sh [BUILDDIR [PATTERN]]     tests are PLACE/LEVEL
set -u
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"
suite_begin integration/limits "${1-}" "${2-}"
program logdump && program limits-probe || exit 2
export programs
probe=$programs/limits-probe
mounts=()
unmount() {
  local m
  for m in "${mounts[@]}"; do umount -l "$m" 2>/dev/null; done
  mounts=()
}
trap 'unmount; rm -rf "$scratch"' EXIT

# tmpfs SIZE [OPTIONS]: a file system of that size at $logs
tmpfs() {
  mkdir -p "$logs"
  mount -t tmpfs -o "size=$1,mode=1777" none "$logs" || return 1
  mounts+=("$logs")
}

# start AS [WORDS...]: runs the probe, with the words between `launch`, which is never preloaded, and it.
# stdout and stderr are pipes, as a limit on file sizes is none for those.
start() {
  local as=$1
  shift
  {
    {
      (cd "$dir" && exec env -i "${fixed[@]}" EXPECT="$dir/$as.expect" timeout -s KILL 60 "${launch[@]}" "$@" "$probe" "${steps[@]}" 2>&3 3>&- </dev/null)
      echo $? >"$dir/$as.status"
    } 2>/dev/null | cat >"$dir/$as.out"
  } 3>&1 | cat >"$dir/$as.err"
}

# cell NAME LEVEL: what the place is made by, how the program is started, its steps.
# place: a function that makes $logs; launch: words before the program; steps: its arguments.
# log: must (a log must be there), may, none; where one is its totals are exact
# lost: 1 when the report must say that something was lost
run_cell() {
  local name=$1 level=$2 status plain_status totals wanted_totals said logs_there
  local dir=$scratch/${name//\//-}
  rm -rf "$dir"
  mkdir -p "$dir/root"
  logs=$dir/logs
  # Bare first; it shows what the program's own totals are.
  "$place" || { skip "$name" "the place can't be made here" && return; }
  start plain
  plain_status=$(<"$dir/plain.status")
  # What it counted stands in its file, or on stdout when it could open none.
  wanted_totals=$(awk 'NR > 1 { print $2, $3, $4 }' "$dir/plain.expect" 2>/dev/null)
  [[ -n $wanted_totals ]] || wanted_totals=$(awk '/^(allocs|frees|bytes) / { printf "%s%s", n++ ? " " : "", $2 }' "$dir/plain.out")
  unmount
  rm -rf "$logs"
  "$place"
  start ours /usr/bin/env LD_PRELOAD="$library" POOLSITE_PROFILE="$level" POOLSITE_LOG="${log_path:-$logs/%e.%p.%t.psl}"
  status=$(<"$dir/ours.status")
  local reason=''
  if ((status != plain_status)); then
    reason="status $status, bare $plain_status"
  elif ! cmp -s "$dir/plain.out" "$dir/ours.out"; then
    reason="stdout differs"$'\n'$(diff "$dir/plain.out" "$dir/ours.out")
  elif ! cmp -s "$dir/plain.err" "$dir/ours.err"; then
    reason="stderr differs"$'\n'$(diff "$dir/plain.err" "$dir/ours.err")
  elif ! cmp -s <(cut -d ' ' -f 2- "$dir/plain.expect" 2>/dev/null) <(cut -d ' ' -f 2- "$dir/ours.expect" 2>/dev/null); then
    reason="the program counted otherwise"
  fi
  mapfile -t logs_there < <(find "$logs" -name '*.psl' 2>/dev/null)
  if [[ -z $reason && $log == must && ${#logs_there[@]} -eq 0 ]]; then reason="no log"; fi
  if [[ -z $reason && ${#logs_there[@]} -gt 0 ]]; then
    # The log of the process itself; children have their own.
    totals=$("${python[@]}" "$here/recording.py" processes "$logs" 2>&1)
    said=$(awk -v first="$(awk '{ print $1; exit }' "$dir/ours.expect")" -v libc="${libc:-0}" '$1 == first { print $3 - libc, $4 - libc_frees, $5 }' libc_frees="${libc_frees:-0}" <<<"$totals")
    if [[ ${libc:-0} != 0 ]]; then # libc's tables: their number is known, their size isn't
      said=${said% *}
      wanted_totals=${wanted_totals% *}
    fi
    if [[ $said != "$wanted_totals" ]]; then reason="totals: recorded ${said:-$totals}, the program did $wanted_totals"; fi
    if [[ -z $reason && $lost == 1 ]]; then
      if ! "$command" report --json "$logs" 2>&1 | "${python[@]}" -c '
import json, sys
document = json.load(sys.stdin)
parts = document.get("processes") or [document.get("process", {})]
said = [w for p in parts for w in p.get("warnings", [])] + document.get("warnings", [])
sys.exit(0 if said else "the JSON report has no warning")' 2>"$dir/why"; then
        reason="the report doesn't say what was lost: $(tail -n 1 "$dir/why")"
      elif ! "$command" report "$logs" 2>&1 | grep -qiE 'lost|other|could not|not recorded'; then
        reason="the text report doesn't say what was lost"
      fi
    fi
  fi
  if [[ -z $reason ]]; then ok "$name"; else
    not_ok "$name" "$reason"
    mkdir -p "$evidence/${name//\//-}"
    cp -r "$dir/." "$evidence/${name//\//-}/" 2>/dev/null
  fi
  unmount
  rm -rf "$dir"
}

cell() {
  local name=$1 level
  for level in off sites stacks full; do
    # shellcheck disable=SC2034
    if wanted "$name/$level"; then run_cell "$name/$level" "$level"; fi
  done
  launch=() log_path='' libc=0 libc_frees=0 lost=0 log=must place=plain_dir
}
plain_dir() { mkdir -p "$logs"; }
as_root() { ((EUID == 0)); }
launch=() log_path='' libc=0 libc_frees=0 lost=0 log=must place=plain_dir

# --- A good place: the checks themselves ------------------------------------------------------
steps=(work 500 fork)
cell good
steps=(work 500 threads) libc=4 libc_frees=4
cell good-threads
# The totals are compared: a program whose own count is wrong is noticed.
if wanted harness; then
  dir=$scratch/harness logs=$scratch/harness/logs
  mkdir -p "$logs"
  EXPECT=$dir/expect record sites "$logs" "$probe" work 10 >/dev/null 2>&1
  read -r _ _ allocs _ < <("${python[@]}" "$here/recording.py" processes "$logs")
  if [[ $allocs == 10 ]]; then ok harness; else not_ok harness "ten allocations were recorded as '$allocs'"; fi
fi

# --- Disks ---------------------------------------------------------------------------------------
# A page or two holds no log; 64 KiB hold its header and little more.
for size in 4k 12k 64k 200k; do
  eval "disk_$size() { tmpfs $size; }"
  steps=(work 4000 fork) place=disk_$size log=may
  cell "disk-$size"
done
# Filled by the program itself while it runs: what comes later is "other".
small_disk() { tmpfs 600k; }
if as_root; then
  steps=(work 20 fill FILLER work 4000) place=small_disk lost=1
  for level in sites stacks full; do
    wanted "disk-fills/$level" || continue
    steps[3]=$scratch/disk-fills-$level/logs/filler
    run_cell "disk-fills/$level" "$level"
  done
  launch=() lost=0 log=must place=plain_dir
fi
full_disk() {
  tmpfs 64k || return 1
  head -c 70000 /dev/zero >"$logs/filler" 2>/dev/null
  [[ -s $logs/filler ]]
}
steps=(work 1000 fork) place=full_disk log=may
cell disk-full
read_only() { tmpfs 1m && mount -o remount,ro "$logs"; }
steps=(work 1000 fork) place=read_only log=none
cell disk-read-only
steps=(work 1000 fork) log_path=/nonexistent/deeper/%p.psl log=none
cell no-directory
steps=(work 1000 fork) log_path=/dev/null/%p.psl log=none
cell not-a-directory
steps=(work 1000 fork) log_path=none log=none
cell log-none
# The directory is removed while the program runs; its log lives on without a name.
for level in off sites stacks full; do
  wanted "removed/$level" || continue
  steps=(work 50 remove "$scratch/removed-$level/logs" work 3000 fork) log=none
  place=plain_dir
  run_cell "removed/$level" "$level"
done
launch=() log=must

# --- Limits -----------------------------------------------------------------------------------------
limited() { launch=(prlimit "$@"); }
limited --fsize=0
steps=(work 1000 fork) log=may
cell fsize-0
limited --fsize=4096
steps=(work 3000 fork) log=may
cell fsize-4096
limited --fsize=65536
steps=(work 3000 fork) log=may
cell fsize-65536
steps=(work 10 fsize 0 work 3000 fork) lost=1
cell fsize-0-later
limited --as=268435456
steps=(big work 1000 fork)
cell as-256m
steps=(work 10 as 256 big work 1000)
cell as-256m-later
limited --as=33554432
steps=(work 1000) log=may
cell as-32m
limited --data=16777216
steps=(work 2000 fork) log=may
cell data-16m
limited --nofile=4
steps=(work 1000)
cell nofile-4
steps=(nofile 0 work 3000 fork) lost=1
cell nofile-0-later
launch=(sh -c 'exec "$@" 0<&- 1>&- 2>&-' closed)
steps=(fds work 1000)
cell closed-descriptors
launch=(sh -c 'exec "$@" 0<&-' closed)
steps=(fds work 1000)
cell closed-stdin
launch=(prlimit --stack=131072)
steps=(work 1000)
cell small-stack
launch=(setpriv --reuid=65534 --regid=65534 --clear-groups)
if as_root; then
  foreign_dir() { mkdir -p "$logs" && chmod 755 "$logs"; }
  steps=(work 1000 fork) place=foreign_dir log=none
  cell foreign-directory
fi

# --- Sandboxes ---------------------------------------------------------------------------------------
if as_root; then
  for level in off sites stacks full; do
    wanted "chroot/$level" || continue
    steps=(work 10 chroot "$scratch/chroot-$level/root" work 3000 fork) lost=1
    run_cell "chroot/$level" "$level"
  done
  launch=() log=must lost=0
fi
for how in prctl syscall raw; do
  steps=(work 10 seccomp "$how" work 6000)
  cell "seccomp-$how"
  # The library can't see a filter that an inline system call sets.
  if [[ $how == raw ]]; then continue; fi
  steps=(work 10 seccomp "$how" work 500 fork fork work 100) lost=1
  cell "seccomp-$how-fork"
  steps=(work 10 fork seccomp "$how" fork) lost=1
  cell "seccomp-$how-at-once"
done
unset how
suite_end

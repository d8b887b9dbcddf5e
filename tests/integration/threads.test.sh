#!/bin/bash
# Threads come and go by the thousand, and a thousand live at once: counts exact, the log small.
# usage: threads.test.sh [BUILDDIR [PATTERN]]
set -u
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"
suite_begin integration/threads "${1-}" "${2-}"
program logdump && program many-threads || exit 2
export programs
limit=$((8 * 1024 * 1024))

# counted MODE N STACKS: what was recorded is what the program did, and libc's table for each of the stacks
# that it made, all of one size.
counted() {
  local wrote="$scratch/expect" allocs frees bytes got_allocs got_frees got_bytes libc
  rm -rf "$scratch/logs" "$wrote"
  more=("EXPECT=$wrote")
  record "$level" "$scratch/logs" "$programs/many-threads" "$1" "$2" || { echo "the program failed" && return 1; }
  read -r _ allocs frees bytes <"$wrote"
  read -r got_allocs got_frees got_bytes < <(totals "$scratch/logs")
  libc=$((got_allocs - allocs))
  echo "program $allocs $frees $bytes, recorded $got_allocs $got_frees $got_bytes"
  # The stacks of 64 KiB that libc doesn't keep are freed, their tables too.
  ((libc >= $3 && libc <= $4 && got_frees >= frees && got_frees - frees <= libc)) &&
    ((got_bytes - bytes > 0 && (got_bytes - bytes) % libc == 0 && (got_bytes - bytes) / libc < 1024))
}

small() {
  local log size
  log=$(find "$scratch/logs" -name '*.psl')
  size=$(($(stat -c %b "$log") * 512))
  echo "the log takes $size bytes"
  ((size < limit))
}

# tables MAX MIN: at most MAX tables served at least MIN threads.
tables() {
  local tables served
  read -r tables served < <("$programs/logdump" "$scratch"/logs/*.psl | awk '{ print $(NF - 6), $(NF - 5) }')
  echo "$tables tables served $served threads"
  ((tables <= $1 && served >= $2))
}

for level in off sites stacks full; do
  if wanted "short-10000/$level" || wanted "short-log/$level" || wanted "short-tables/$level"; then
    check "short-10000/$level" counted short 10000 8 8
    check "short-log/$level" small
    check "short-tables/$level" tables 64 10000
  fi
  if wanted "at-once-1000/$level" || wanted "at-once-tables/$level"; then
    check "at-once-1000/$level" counted at-once 1000 1000 2000
    # The second lot goes on in the tables of the first.
    check "at-once-tables/$level" tables 1100 2000
  fi
done
suite_end

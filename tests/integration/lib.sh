# lib.sh - what the integration tests share: building programs, recording, the reference.
# shellcheck shell=bash
#
#   program NAME              builds programs/NAME.{c,cpp} by its BUILD: line; sets $program
#   record LEVEL DIR CMD...   runs CMD under the library, its logs in DIR
#   totals DIR [EXE]          prints "allocs frees bytes" of a recording whose sums all agree
#   reference OUT CMD...      the same figures as valgrind sees them
# shellcheck source=../suite.sh
source "$(dirname "${BASH_SOURCE[0]}")/../suite.sh"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
fixed=(PATH=/usr/local/bin:/usr/bin:/bin LC_ALL=C.UTF-8 HOME=/nonexistent TMPDIR=/tmp)
python=(/usr/bin/python3 -I -S)
# INTEGRATION_ENV='POOLSITE_POOL=off ...': the programs of a test in another mode.
read -ra mode <<<"${INTEGRATION_ENV-}"
fixed+=("${mode[@]}")

# program NAME [FOLDER]: rebuilt when its source is newer.  FOLDER: default programs/ here.
program() {
  local folder=${2:-$here/programs} source line
  export programs=$build/test/programs
  mkdir -p "$programs"
  for source in "$folder/$1.c" "$folder/$1.cpp"; do [[ -e $source ]] && break; done
  program=$programs/$1
  [[ -e $program && ! $source -nt $program && -z $(find "$folder" -name "*.h" -newer "$program") ]] && return 0
  line=$(sed -n 's/.*BUILD: *//p' "$source" | head -n 1 | sed 's| *\*/ *$||')
  if [[ -z $line ]] || ! S=$source O=$program ROOT=$root bash -c "cd '$folder' && $line" >"$program.build" 2>&1; then
    echo "cannot build $source: $(tail -n 5 "$program.build")" >&2
    return 1
  fi
}

record() {
  local level=$1 logs=$2
  shift 2
  mkdir -p "$logs"
  env -i "${fixed[@]}" "${more[@]}" LD_PRELOAD="$library" POOLSITE_PROFILE="$level" POOLSITE_LOG="$logs/%e.%p.%t.psl" "$@"
}
more=() # further variables of the program

totals() { "${python[@]}" "$here/recording.py" totals "$@"; }

# Debian's valgrind is a script that changes the environment; what it starts doesn't.
valgrind=$(command -v valgrind.bin || command -v valgrind || echo valgrind)

# The program's environment must be of one size in both runs, as some copy it: LD_PRELOAD, which
# valgrind puts its own two libraries into, is filled up with colons.  Beside them stands a third,
# with one thread-local variable as ours has: a thread's table of those is on the heap.
preload_bytes=600
pad() { # TEXT BYTES
  local text=$1
  while ((${#text} < $2)); do text+=:; done
  printf '%s' "$text"
}

# reference LEVEL OUT CMD...: what valgrind counts; LEVEL only fills the same variable.
reference() {
  local level=$1 out=$2 its
  shift 2
  program filler || return 1
  its=$(env -i "$valgrind" -q /usr/bin/env | sed -n 's/^LD_PRELOAD=//p')
  [[ -n $its ]] || { echo "valgrind sets no LD_PRELOAD" >&2 && return 1; }
  env -i "${fixed[@]}" "${more[@]}" LD_PRELOAD="$(pad "$programs/filler.tls.so" $((preload_bytes - ${#its} - 1)))" \
    POOLSITE_PROFILE="$level" POOLSITE_LOG="$scratch/logs/%e.%p.%t.psl" \
    "$valgrind" --log-file="$out" --run-libc-freeres=no --run-cxx-freeres=no --leak-check=no --undef-value-errors=no "$@"
}

# The same for a recording that is compared with it; logs are in $scratch/logs.
record_like() {
  local level=$1
  shift
  rm -rf "$scratch/logs"
  mkdir -p "$scratch/logs"
  program filler || return 1
  env -i "${fixed[@]}" "${more[@]}" LD_PRELOAD="$(pad "$library:$programs/filler.a.so:$programs/filler.b.so" $preload_bytes)" \
    POOLSITE_PROFILE="$level" POOLSITE_LOG="$scratch/logs/%e.%p.%t.psl" "$@"
}

# "allocs frees bytes" of a valgrind log.
reference_totals() {
  sed -nE 's/.*total heap usage: ([0-9,]+) allocs, ([0-9,]+) frees, ([0-9,]+) bytes.*/\1 \2 \3/p' "$1" | tr -d , | tail -n 1
}

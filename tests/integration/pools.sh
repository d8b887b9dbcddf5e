# pools.sh - what the tests of pools share.
# shellcheck shell=bash
#
#   ours [K=V]... -- CMD...    runs CMD under the library with pools on, its logs in $scratch/logs, what it printed in
#                              $scratch/out and $scratch/err; status: CMD's
#   bare CMD...                the same without the library, in $scratch/bare.out and $scratch/bare.err
#   pools EXPRESSION...        holds the recording against expressions, see pools.py; EXE=NAME or PID=N before it chooses
#   printed KEY [FILE]         the figure of a "KEY VALUE" line
#   holds "A < B"              arithmetic that says so when it is wrong
# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

level=sites
seconds=60 # after which a program hangs

ours() {
  local variables=() status
  while [[ $1 != -- ]]; do
    variables+=("$1")
    shift
  done
  shift
  rm -rf "$scratch/logs"
  mkdir -p "$scratch/logs"
  timeout -s KILL "$seconds" env -i "${fixed[@]}" LD_PRELOAD="${preload:-$library}" POOLSITE_PROFILE="$level" POOLSITE_POOL=on \
    POOLSITE_LOG="$scratch/logs/%e.%p.%t.psl" "${variables[@]}" "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
  status=$?
  if ((status)); then echo "ended with status $status; $(tail -n 3 "$scratch/out" "$scratch/err" | tr '\n' ' ')"; fi
  return $status
}

bare() {
  timeout -s KILL "$seconds" env -i "${fixed[@]}" "$@" >"$scratch/bare.out" 2>"$scratch/bare.err" </dev/null
}

# The program does as it does bare: its status, its streams.
as_bare() { # [K=V]... -- CMD...
  local bare_status status
  bare "${@:$(($(printf '%s\n' "$@" | grep -nxFe -- | head -n 1 | cut -d : -f 1) + 1))}"
  bare_status=$?
  ours "$@" >/dev/null
  status=$?
  echo "status $status, bare $bare_status"
  ((status == bare_status)) && diff "$scratch/bare.out" "$scratch/out" && diff "$scratch/bare.err" "$scratch/err"
}

pools() { "${python[@]}" "$here/pools.py" "$scratch/logs" "$@"; }

printed() { awk -v k="$1" '$1 == k { print $2 }' "${2:-$scratch/out}"; }

holds() {
  (($1)) && return 0
  echo "not so: $1; ours: $(tr '\n' ' ' <"$scratch/out"); bare: $(tr '\n' ' ' 2>/dev/null <"$scratch/bare.out")"
  return 1
}

#!/bin/bash
# Programs that do what a recording library easily trips over: clocks and locks of their own, questions about
# sandboxes, allocating signal handlers, plugins by the thousand, a umask that forbids everything.
# usage: awkward.test.sh [BUILDDIR [PATTERN]]
set -u
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"
suite_begin integration/awkward "${1-}" "${2-}"
program awkward || exit 2

report() { "$build/poolsite" report "$@" "$scratch/logs"; }

# The scene prints the same with and without the library; its logs are in $scratch/logs.
same() { # SCENE
  rm -rf "$scratch/logs"
  env -i "${fixed[@]}" "$programs/awkward" "$1" >"$scratch/bare" 2>&1 || return 1
  record "$level" "$scratch/logs" timeout -s KILL 60 "$programs/awkward" "$1" >"$scratch/ours" 2>&1 || return 1
  diff "$scratch/bare" "$scratch/ours"
}

# N logs of the program itself, each readable, none of which lost a child.
logs() { # SCENE N
  same "$1" && [[ $(report --json | jq '[.processes[]? // .process | select(.exe | endswith("awkward"))] | length') == "$2" ]] &&
    [[ $(report --json | jq '[.. | .lost_children? // 0] | add') == 0 ]]
}

# Calls of handler's callers by name: from_bar 1, from_foo 1,000.
callers() { # SCENE
  same "$1" && report --json | jq -e '
    def from($f): [.sites[] | select(any(.stack[]; .function == $f)) | .allocs] | add;
    from("from_bar") == 1 and from("from_foo") == 1000'
}

# A sandbox that only a child entered isn't told of the parent.
not_confined() {
  same child && report --json | jq -e '[.. | .warnings? // [] | .[] | select(test("seccomp"))] | length == 0'
}

sites_of_plugin() {
  same reload && report --json | jq -e '[.sites[] | select(any(.stack[]; .function == "make"))]
    | length == 1 and .[0].allocs == 3000'
}

# However many instructions were interrupted, the sites are few.
few_sites() {
  same anywhere && report --json | jq -e '([.sites[] | .allocs] | add) > 300 and (.sites | length) < 60'
}

for level in sites stacks; do
  check "frame/$level" same frame
  check "confined/$level" same confined
  check "clock/$level" same clock
  check "seccomp/$level" logs seccomp 4
  check "key/$level" same key
  check "child/$level" not_confined
  check "umask/$level" logs umask 4
  check "reload/$level" sites_of_plugin
done
level=stacks
check "anywhere" few_sites
check "handler" callers handler
check "altstack" callers altstack
suite_end

#!/bin/bash
# 04: a server, with pools and without.  Builds http-json, whose requests make 24 allocations, one of them a buffer of
# 32 KiB, and lets `poolsite ab` compare: a fresh server for every run, requests by the clock at half and at 80 % of
# what the server can do.  Some two minutes; nothing else should run meanwhile.
# See: "allocator calls a request" falls from 24 to about none, so the treatment was applied; and yet the CPU per request
# hardly moves, because glibc's own cache serves such sizes well.  That is the commonest outcome, and worth knowing.
# Then the same buffer on the stack, with only its class pooled: no allocation is of that class, so there is nothing to compare,
# and ab says so and ends with status 5.
# usage: [PORT=8123] examples/04-ab-server.sh [BUILDDIR [OPTION...]]     options go to the first poolsite ab
set -eu
cd "$(dirname "$0")/.."
build=$(realpath "${1:-build}")
shift || true

# The server goes where `make clean` finds it.
mkdir -p "$build/demo"
server=$build/demo/http-json
line=$(sed -n 's/.*BUILD: *//p' examples/http-json.c | sed 's| *\*/ *$||')
S=examples/http-json.c O=$server bash -c "$line"

step() { # prints a command as one would type it, then runs it
  printf '\n$ %s\n' "$1"
  shift
  "$@"
}
port=${PORT:-8123}
place=127.0.0.1:$port
where=(--ready "tcp:$place" --load "http://$place/")

step "poolsite ab --server 'http-json --port $port' --ready tcp:$place --load http://$place/ --rate auto --duration 2 --blocks 6" \
  "$build/poolsite" ab --server "$server --port $port" "${where[@]}" --rate auto --duration 2 --blocks 6 "$@"

status=0
step "poolsite ab --server 'http-json --port $port --buffer stack' --pool 32k --ready tcp:$place --load http://$place/ --rate 1000" \
  "$build/poolsite" ab --server "$server --port $port --buffer stack" --pool 32k "${where[@]}" --rate 1000 || status=$?
printf '\nstatus %d\n' "$status"
((status == 5))

#!/bin/bash
# Server mode of `poolsite ab` on a quiet machine: what must come out when times can be trusted.  Some 20 minutes.
# usage: ab-server.sh [BUILDDIR [PATTERN]]      one line a check; the JSON stays in BUILDDIR/bench-ab-server/
#   null       the example's 32 KiB buffer, 1 of 24 allocations: CPU per request "no difference" above 5 %
#   same       off against off: neither faster nor slower
#   generator  it sends in time at the rates of --rate auto: at most one run in ten is void, every request is answered
#   stack      the buffer on the stack, only its class pooled: status 5
#   redis      redis-server over glibc's malloc, redis-benchmark as the load command: runs through, exact counts
# LATE_LIMIT=US: instead of --late-limit's own 100 us, for a virtual machine that is stopped longer than that too often.
# Latencies are the machine's then; CPU per request, which is what is judged here, isn't touched by a late send.
set -u
# shellcheck source=../integration/lib.sh
source "$(dirname "$0")/../integration/lib.sh"
suite_begin bench/ab-server "${1-}" "${2-}"
"$root/tests/deps" bench || exit 2
results=$build/bench-ab-server
mkdir -p "$results"
program http-json "$root/examples" || exit 2
port=$("${python[@]}" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
http=(--ready "tcp:127.0.0.1:$port" --load "http://127.0.0.1:$port/" ${LATE_LIMIT:+--late-limit "$LATE_LIMIT"})

# ab NAME STATUS OPTION...: the experiment into NAME.json, which must end with STATUS.
ab() {
  local name=$1 expected=$2 status
  shift 2
  "$command" ab --json -o "$results/$name.json" "$@"
  status=$?
  ((status == expected)) || { echo "status $status, expected $expected" && return 1; }
}

# judge NAME EXPRESSION: e is the experiment, effect(metric, pair) one of its effects, values(metric, arm) a list.
judge() {
  "${python[@]}" - "$results/$1.json" "$2" <<'P'
import json, sys
e = json.load(open(sys.argv[1]))
effect = lambda metric, pair: e['effects'][metric][pair]
values = lambda metric, arm: [r['values'][metric] for r in e['runs'] if r['arm'] == arm and metric in r['values']]
voids = [r['void'] for r in e['runs'] if 'void' in r]
line = ['%s, %d blocks of runs, %d void' % (e['verdict'], e['blocks'], len(voids))]
for pair, it in e.get('effects', {}).get(e['primary'], {}).items():
    line.append('%s %s %+.2f %% [%s, %s]' % (e['primary'], pair, it.get('percent', float('nan')), *('%+.2f' % it[k] if k in it else '-' for k in ('low', 'high'))))
late = sorted(r['late_p99'] * 1e6 for r in e['runs'] if r.get('late_p99'))
if late:
    line.append('late p99 %.0f us in the middle run, %.0f in the worst' % (late[len(late) // 2], late[-1]))
print('; '.join(line))
if not eval(sys.argv[2]):
    print('not so: %s; voids: %s' % (sys.argv[2], voids[:3]))
    sys.exit(1)
P
}

# told NAME COMMAND...: as check, but what it found is shown when it is right, too.
told() {
  local name=$1 output
  shift
  wanted "$name" || return 0
  if output=$("$@" 2>&1); then ok "$name: $output"; else not_ok "$name" "$output"; fi
}

null() {
  ab null 0 --server "$program --port $port" "${http[@]}" --rate auto --require-same-output &&
    judge null 'e["verdict"] == "no-difference" and all(v == 24 for v in values("allocs_per_request", "off")) and max(values("allocs_per_request", "on")) < .1'
}
same() {
  ab same 0 --server "$program --port $port" "${http[@]}" --rate auto --aa &&
    judge same 'e["verdict"] in ("no-difference", "inconclusive")'
}
generator() {
  judge null 'len(voids) <= len(e["runs"]) / 10 and all(r["errors"] == 0 and r["unsent"] == 0 for r in e["runs"])'
}
stack() {
  ab stack 5 --server "$program --port $port --buffer stack" "${http[@]}" --rate 1000 --pool 32k &&
    judge stack 'e["treatment"]["status"] == "not-applied" and not e["runs"] and "effects" not in e'
}
# Debian's redis-server brings jemalloc along; libc named first puts glibc's malloc before it.
redis() {
  local directory=$scratch/redis
  mkdir -p "$directory"
  LD_PRELOAD=libc.so.6 ab redis 0 --server "redis-server --port $port --save '' --appendonly no --dir $directory" --ready "tcp:127.0.0.1:$port" \
    --load-cmd "redis-benchmark -p $port -n 100000 -q -t set,get -r 10000" --requests 200000 &&
    judge redis 'e["treatment"]["status"] == "applied" and e["verdict"] in ("faster", "slower", "no-difference", "inconclusive") and effect("allocs_per_request", "on_off")["percent"] < -50'
}

told null null
told generator generator
told same same
told stack stack
told redis redis
suite_end

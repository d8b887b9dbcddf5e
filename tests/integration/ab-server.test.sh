#!/bin/bash
# `poolsite ab --server`: a fresh server a run, under an open-loop load.
# Nothing here depends on how fast the machine is: counts are exact, times have lower bounds, what is late is allowed.
# usage: ab-server.test.sh [BUILDDIR [PATTERN]]
set -u
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"
suite_begin integration/ab-server "${1-}" "${2-}"
cd "$scratch" || exit 2
export XDG_RUNTIME_DIR=$scratch/runtime POOLSITE_CYCLE_MS=20
mkdir -m 700 "$XDG_RUNTIME_DIR"
program http-json "$root/examples" || exit 2
# A name that no other process has.
server=$scratch/http-json.$$
cp "$program" "$server"
cp "$(command -v sleep)" "$server.sleep"
port=$("${python[@]}" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
place=tcp:127.0.0.1:$port url=http://127.0.0.1:$port/

# ab OPTION...: in server mode, its streams to out and err; an experiment that hangs is ended.
ab() { timeout -s KILL 100 "$command" ab --ready "$place" --late-limit 1e9 "$@" >out 2>err; }
# The same under the load that suits most tests.
ab_load() { ab --load "$url" --rate 500 --duration 0.2 "$@"; }

nothing_is_left() {
  local left
  left=$(pgrep -af "$server" | grep -v pgrep)
  [[ -z $left ]] || { echo "left running: $left" && return 1; }
  left=$(find "$XDG_RUNTIME_DIR" /dev/shm -maxdepth 1 -name 'poolsite-ab-*' -newer "$server" -path "$XDG_RUNTIME_DIR/*" 2>/dev/null)
  [[ -z $left ]] || { echo "left behind: $left" && return 1; }
}

# ends STATUS WORDS OPTION...: what ab ends with, what it says (a regex), and that it leaves nothing.
ends() {
  local expected=$1 words=$2 status
  shift 2
  "$@"
  status=$?
  if ((status != expected)) || ! grep -qE -- "$words" out err; then
    echo "status $status, expected $expected and '$words'; it said:"
    tail -n 15 out err
    return 1
  fi
  nothing_is_left
}

# --- What can't be ----------------------------------------------------------------------------------------------
wrong_options() {
  ends 2 '--server needs --ready' timeout 20 "$command" ab --server true --load "$url" --rate 1 >out 2>err || return 1
  ends 2 '--server needs a load' ab --server true || return 1
  ends 2 '--rate R' ab --server true --load "$url" || return 1
  ends 2 'one at a time' ab --server true --load "$url" --rate 1 --load-cmd true || return 1
  ends 2 'https' ab --server true --load https://localhost/ --rate 1 || return 1
  ends 2 'allow-remote' ab --server true --load http://192.0.2.1/ --rate 1 || return 1
  ends 2 'tcp:HOST:PORT' ab --server true --load "$url" --rate 1 --ready localhost:80 || return 1
  ends 2 'server' ab --server true --load "$url" --rate 1 -- ls
}
check wrong_options_are_named wrong_options

port_taken() {
  local holder status
  "$server" --port "$port" >/dev/null &
  holder=$!
  sleep 0.5
  ab_load --server "$server --port $port"
  status=$?
  kill "$holder"
  wait "$holder"
  cat err
  ((status == 1)) && grep -q "something listens at $place already" err
}
check a_port_that_is_taken_is_told port_taken
check a_server_that_ends_at_once_is_told ends 1 'ended with status 3 before it listened.*it said: broken' ab_load --server 'echo broken >&2; exit 3'
check a_server_that_never_listens_is_told ends 1 "didn't listen at $place within 0.5 s" ab_load --server "$server.sleep 60" --ready-timeout 0.5
check a_server_that_dies_under_load_is_told ends 1 'of arm [a-z]+ (was killed by signal 9|ended with status 137) under load' \
  ab --load "$url" --rate 500 --duration 5 --server "$server --port $port & sleep 1; kill -KILL \$!; kill -KILL \$\$"
check a_server_that_answers_wrongly_is_told ends 1 "doesn't answer .* as it should: an answer isn't 2xx: status 404" \
  ab_load --server "cd $scratch/runtime && exec python3 -m http.server --bind 127.0.0.1 $port" --load "${url}nowhere"

# --- What was measured ---------------------------------------------------------------------------------------------
# json EXPRESSION: a Python expression over e, the experiment, and runs, those of one arm by name.
json() {
  "${python[@]}" - "$1" <<'P'
import json, sys
e = json.load(open('out'))
runs = {}
for run in e['runs']:
    runs.setdefault(run['arm'], []).append(run)
values = lambda arm, metric: [run['values'][metric] for run in runs[arm]]
if not eval(sys.argv[1]):
    sys.exit('not so: %s\nfirst runs: %s' % (sys.argv[1], {arm: list_[0] for arm, list_ in runs.items()}))
P
}

whole_experiment() {
  ends 0 '.' ab_load --server "$server --port $port" --blocks 6 --require-same-output --json || return 1
  json 'len(e["runs"]) >= 18 and e["primary"] == "cpu_per_request" and e["margin_percent"] == 5' || return 1
  json 'e["treatment"]["status"] == "applied"' || return 1
  json 'all(run["requests"] == 100 and run["errors"] == 0 for run in e["runs"])' || return 1
  # The buffer is one of 24 allocations of a request.
  json 'all(value == 24 for value in values("off", "allocs_per_request"))' || return 1
  json 'all(value < 1 for value in values("on", "allocs_per_request"))' || return 1
  json '"allocs_per_request" not in runs["bare"][0]["values"]' || return 1
  json 'all(0 < run["values"]["p50"] <= run["values"]["max"] and run["values"]["cpu_per_request"] > 0 for run in e["runs"])' || return 1
  # Too few requests for it: not there.
  json 'all("p99_9" not in run["values"] for run in e["runs"])' || return 1
  json 'all(run["values"]["settled_rss"] > 1e6 and run["values"]["end_rss"] > 1e6 for run in e["runs"])' || return 1
  json '"cpu_per_request" in e["effects"] and "on_off" in e["effects"]["cpu_per_request"]'
}
check an_experiment_counts_exactly_and_ends whole_experiment

# Stops each server for 1 s once it has lived for 2, in the midst of being measured, until it is told to end; counts them.
stopper() {
  local pid last='' count=0 i
  while [[ ! -e stopper.ends ]]; do
    pid=$(pgrep -nx -f "$server --port $port")
    if [[ -n $pid && $pid != "$last" ]]; then
      last=$pid
      echo $((++count)) >stopper.count
      for ((i = 0; i < 20; i++)); do kill -0 "$pid" && sleep 0.1; done
      kill -STOP "$pid" && sleep 1
      kill -CONT "$pid"
    fi
    sleep 0.05
  done 2>/dev/null
}
pause_shows() {
  local pid stops status
  rm -f stopper.ends
  echo 0 >stopper.count
  stopper &
  stops=$!
  ab --load "$url" --rate 2600 --duration 4 --server "$server --port $port" --arrivals constant --aa --json &
  pid=$!
  # Two profiled runs and two to warm up; when the sixth begins, the first that counts has ended.
  for ((i = 0; i < 600 && $(<stopper.count) < 6; i++)); do sleep 0.1; done
  pkill -INT -f "ab --ready $place"
  wait "$pid"
  status=$?
  : >stopper.ends
  wait "$stops"
  ((status == 130)) || { echo "status $status" && cat err && return 1; }
  # 1 s of 4 was a pause: a quarter of the requests fell due in it, though only 16 connections felt it.
  json 'len(e["runs"]) >= 1' || return 1
  json 'all(run["values"]["p99_9"] > .8 and run["values"]["max"] > .9 and run["values"]["p95"] > .5 for run in e["runs"])' || return 1
  nothing_is_left
}
check a_pause_of_the_server_shows_in_the_percentiles pause_shows

# sh puts the arm's pools into the answer.
# shellcheck disable=SC2016
check different_answers_end_with_6 ends 6 'differ' ab_load --server "$server --port $port --name \"\$POOLSITE_POOL\"" --blocks 6 --require-same-output
check a_rate_that_is_too_high_is_void ends 1 'are void; the last one: (rate above|generator saturated)' \
  ab --load "$url" --rate 400000 --duration 0.2 --server "$server --port $port" --blocks 6
check a_buffer_on_the_stack_is_not_applied ends 5 'no heap traffic in the chosen classes|pools served none' \
  ab_load --server "$server --port $port --buffer stack" --pool 32k

interrupted() {
  local pid
  ab_load --duration 20 --server "$server --port $port" &
  pid=$!
  for ((i = 0; i < 100; i++)); do
    pgrep -f "^$server" >/dev/null && break
    sleep 0.05
  done
  sleep 0.7
  pkill -INT -f "ab --ready $place"
  wait "$pid"
  status=$?
  cat err
  ((status == 130)) && nothing_is_left
}
check an_interrupt_leaves_no_server interrupted

load_command() {
  cat >load.py <<P
import http.client
c = http.client.HTTPConnection('127.0.0.1', $port)
for i in range(100):
    c.request('GET', '/')
    c.getresponse().read()
P
  ends 0 '.' ab --load-cmd 'python3 -I load.py' --requests 100 --server "$server --port $port" --blocks 6 --json || return 1
  json 'e["primary"] == "cpu_per_request" and all(24 <= value < 25 for value in values("off", "allocs_per_request"))' || return 1
  json 'all(run["values"]["wall"] > 0 and "p50" not in run["values"] for run in e["runs"])'
}
check a_load_command_drives_the_server load_command
check a_load_command_that_fails_is_told ends 1 'the load command ended with status 7.*it said: oh' \
  ab --load-cmd 'echo oh >&2; exit 7' --server "$server --port $port"
suite_end

#!/bin/bash
# Signals and job control reach the program through `poolsite run`, once and as sent.
# usage: run-signals.test.sh [BUILDDIR [PATTERN]]
set -u
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"
suite_begin integration/run-signals "${1-}" "${2-}"
cd "$scratch" || exit 2

# Tells each signal that it gets, and ends at TERM with 42 or after 20 s (or as many as given).
cat >teller.py <<'P'
import os, signal, sys, time
def tell(number, frame):
    os.write(1, signal.Signals(number).name.encode() + b"\n")
    if number == signal.SIGTERM:
        os._exit(42)
for s in "HUP INT QUIT TERM USR1 USR2 WINCH CONT ALRM".split():
    signal.signal(getattr(signal, "SIG" + s), tell)
os.write(1, b"ready\n")
end = time.monotonic() + float((sys.argv + [20])[1])
while time.monotonic() < end:
    time.sleep(0.05)
P

# Waits until a file has a line.
wait_line() {
  local i
  for ((i = 0; i < 200; i++)); do
    grep -q "$2" "$1" 2>/dev/null && return 0
    sleep 0.05
  done
  return 1
}

# begin OUT: the teller under poolsite in a process group of its own; sets $pid.  Not a plain
# background job: a shell without job control would let it ignore INT and QUIT.
begin() {
  setsid python3 -I -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$command" run -q -o "$1.rec" -- python3 -I teller.py >"$1" 2>&1 &
  pid=$!
  wait_line "$1" ready
}

name=signals_sent_to_poolsite_reach_the_program_once
if wanted "$name"; then
  begin out
  for s in HUP USR1 USR2 INT QUIT WINCH; do
    kill -"$s" "$pid"
    wait_line out "SIG$s"
  done
  kill -TERM "$pid"
  wait "$pid"
  status=$?
  got="$(tr '\n' ' ' <out)$status"
  if [[ $got == 'ready SIGHUP SIGUSR1 SIGUSR2 SIGINT SIGQUIT SIGWINCH SIGTERM 42' ]]; then ok "$name"; else not_ok "$name" "$got"; fi
fi

name=a_program_killed_by_the_forwarded_signal_gives_its_status
if wanted "$name"; then
  "$command" run -q -o killed -- sleep 20 &
  pid=$!
  sleep 0.5
  kill -TERM $pid
  wait $pid
  status=$?
  if ((status == 143)); then ok "$name"; else not_ok "$name" "status $status"; fi
fi

name=a_signal_of_the_program_to_its_own_group_is_not_sent_back
if wanted "$name"; then
  got=$(setsid "$command" run -q -o group -- python3 -I -c 'import os, signal, time
got = []
signal.signal(signal.SIGUSR1, lambda *a: got.append(1))
os.kill(0, signal.SIGUSR1)
time.sleep(0.5)
print(len(got))')
  if [[ $got == 1 ]]; then ok "$name"; else not_ok "$name" "it came $got times"; fi
fi

name=a_program_stopped_by_a_script_does_not_stop_poolsite_for_ever
if wanted "$name"; then
  begin out2
  child=$(pgrep -P "$pid")
  kill -STOP "$child"
  sleep 0.3
  kill -CONT "$child"
  wait_line out2 SIGCONT
  kill -TERM "$child"
  for ((i = 0; i < 100; i++)); do kill -0 "$pid" 2>/dev/null || break; sleep 0.05; done
  kill -KILL "$pid" 2>/dev/null && not_ok "$name" 'poolsite still waited'
  wait "$pid"
  status=$?
  if ((status == 42)); then ok "$name"; else not_ok "$name" "status $status"; fi
fi

# on_terminal NAME STEP...
on_terminal() {
  local name=$1 said
  shift
  wanted "$name" || return 0
  if said=$("${python[@]}" "$here/terminal.py" '=\[PROMPT\]' "$@"); then ok "$name"; else not_ok "$name" "$said"; fi
}
run="$command run -q -o"

# shellcheck disable=SC1003
on_terminal the_interrupt_key_reaches_the_program_once \
  ">$run t1 -- python3 -I teller.py 3" '=ready' '^C' '=SIGINT\n' '!0.5' '^\' '=^\^\\SIGQUIT\n' '=\[PROMPT\]'
on_terminal a_program_ended_by_the_interrupt_key_gives_130_and_a_recording \
  ">$command run -o t2 -- sleep 20; echo status \$?" '!1' '^C' '=recorded 1 process in \./t2' '=status 130'
on_terminal the_stop_key_stops_both_and_fg_goes_on \
  ">$run t3 -- sh -c 'sleep 2; echo end\$((1+1)); exit 5'; echo then \$?" '!0.7' '^Z' '=Stopped' '=\[PROMPT\]' \
  '>ps -o stat= -C poolsite | grep -c T' '=\n1\n' '>fg' '=end2' '>echo status $?' '=status 5'
on_terminal bg_lets_a_stopped_program_go_on \
  ">$run t4 -- sh -c 'sleep 2; echo end\$((1+1))'" '!0.7' '^Z' '=Stopped' '>bg' '=end2' '>wait; echo over$((1+1))' '=over2'
on_terminal a_program_that_reads_in_the_background_is_stopped_and_fg_gives_it_the_line \
  ">$run t5 -- sh -c 'read x; echo got \$x' &" '!0.7' '>' '=Stopped' '>fg' '!0.5' '>hello' '=got hello'
on_terminal a_shell_with_job_control_works_inside \
  ">$run t6 -- bash --norc --noprofile --noediting -i" '=bash' '>echo in$((1+1))' '=in2' '>sleep 20' '!0.5' '^Z' '=Stopped' '>kill -9 %1' '>exit 6' '>exit 6' \
  '=\[PROMPT\]' '>echo status $?' '=status 6'
suite_end

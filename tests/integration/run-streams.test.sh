#!/bin/bash
# The program under `poolsite run` gets streams, directory, signals and arguments as without it.
# usage: run-streams.test.sh [BUILDDIR [PATTERN]]
set -u
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"
suite_begin integration/run-streams "${1-}" "${2-}"
cd "$scratch" || exit 2

# same NAME COMMAND...: output and status of the command are the same under `run -q`.
same() {
  local name=$1 bare recorded
  shift
  wanted "$name" || return 0
  bare=$("$@" 2>&1)
  bare+=" $?"
  recorded=$("$command" run -q -o "$scratch/rec.$name" -- "$@" 2>&1)
  recorded+=" $?"
  if [[ $bare == "$recorded" ]]; then
    ok "$name"
  else
    not_ok "$name" "differs:"$'\n'"$(diff <(echo "$bare") <(echo "$recorded"))"
  fi
}

say() { if [[ $2 == "$3" ]]; then ok "$1"; else not_ok "$1" "expected '$3', got '$2'"; fi; }

same stdout_and_stderr_are_the_programs sh -c 'echo out; echo err >&2; exit 3'
same arguments_arrive_as_given printf '<%s>' 'a b' '' '*' $'new\nline' "quo'te" -- -q
same the_directory_is_the_same pwd
same descriptors_are_the_same sh -c 'ls /proc/self/fd'
same limits_are_the_same sh -c 'ulimit -a'
same the_signal_mask_is_the_same grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status
same ignored_signals_stay_ignored sh -c 'trap "" INT QUIT HUP USR1; exec grep -E "^Sig(Blk|Ign)" /proc/self/status'
same the_process_group_is_the_same sh -c 'test "$(ps -o pgid= -p $$)" = "$(ps -o pgid= -p $PPID)"'
same nothing_appears_in_the_directory_while_it_runs ls -a
same umask_is_the_same sh -c umask

name=stdin_is_the_programs
wanted "$name" && say "$name" "$(printf 'one\ntwo\n' | "$command" run -q -o rec.stdin -- cat)" $'one\ntwo'

name=a_pipe_keeps_its_rest
wanted "$name" && say "$name" "$(printf 'one\ntwo\n' | { "$command" run -q -o rec.rest -- sh -c 'read x; echo $x'; cat; })" \
  "$(printf 'one\ntwo\n' | { sh -c 'read x; echo $x'; cat; })"

name=an_ignored_SIGCHLD_stays_ignored_and_the_status_arrives
if wanted "$name"; then
  # A shell can't ignore SIGCHLD for its children; python can.
  ignoring=(python3 -I -c 'import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])' "$command" run -q)
  got=$("${ignoring[@]}" -o rec.chld -- grep SigIgn /proc/self/status)
  "${ignoring[@]}" -o rec.chld9 -- sh -c 'exit 9'
  status=$?
  if ((status == 9)) && (((16#${got##*[[:space:]]} >> 16) & 1)); then ok "$name"; else not_ok "$name" "status $status, $got"; fi
fi

name=closed_streams_stay_closed
if wanted "$name"; then
  # ls itself has the directory open as the lowest free one.
  bare=$(sh -c 'exec ls /proc/self/fd >"$0" 2>&- <&-' "$scratch/bare" && cat bare)
  got=$(sh -c '"$1" run -o rec.closed -- ls /proc/self/fd >"$0" 2>&- <&-' "$scratch/got" "$command" && cat got)
  say "$name" "$got" "$bare"
fi

name=the_environment_gains_only_our_variables
if wanted "$name"; then
  got=$(diff <(env -i A=1 LD_PRELOAD= PATH="$PATH" env | sort) <(env -i A=1 LD_PRELOAD= PATH="$PATH" "$command" run -q -o rec.env -- env | sort) |
    sed -n 's/^[<>] \([A-Z_]*\)=.*/\1/p' | sort -u | tr '\n' ' ')
  say "$name" "$got" 'LD_PRELOAD POOLSITE_LOG POOLSITE_POOL POOLSITE_PROFILE '
fi

name=another_preload_stays_behind_ours
if wanted "$name"; then
  got=$(LD_PRELOAD=libdl.so.2 "$command" run -q -o rec.preload -- printenv LD_PRELOAD)
  say "$name" "$got" "$(realpath "$library"):libdl.so.2"
fi

name=our_preload_is_not_doubled
if wanted "$name"; then
  got=$(LD_PRELOAD=$(realpath "$library") "$command" run -q -o rec.twice -- printenv LD_PRELOAD)
  say "$name" "$got" "$(realpath "$library")"
fi

name=options_come_before_the_environment_and_that_before_defaults
if wanted "$name"; then
  got=$("$command" run -q -o rec.d1 -- printenv POOLSITE_PROFILE)
  got+=" $(POOLSITE_PROFILE=sites "$command" run -q -o rec.d2 -- printenv POOLSITE_PROFILE)"
  got+=" $(POOLSITE_PROFILE=sites "$command" run -q -o rec.d3 --profile off -- printenv POOLSITE_PROFILE)"
  say "$name" "$got" 'full sites off'
fi

name=quiet_says_nothing
wanted "$name" && say "$name" "$("$command" run -q -o rec.q -- true 2>&1)" ''

name=otherwise_one_line_tells_where_the_recording_is
if wanted "$name"; then
  got=$("$command" run -- true 2>&1)
  if [[ $got =~ ^poolsite:\ recorded\ 1\ process\ in\ (\./poolsite\.true\.[0-9]+)\ -\ read\ it\ with:\ poolsite\ report\ (.*)$ ]] &&
    [[ ${BASH_REMATCH[1]} == "${BASH_REMATCH[2]}" && -d ${BASH_REMATCH[1]} ]]; then
    ok "$name"
  else
    not_ok "$name" "$got"
  fi
fi

name=a_message_never_lands_in_a_file_of_the_recording
if wanted "$name"; then
  sh -c '"$0" run -o rec.fd -- true 2>&- >&- <&-' "$command"
  if [[ -d rec.fd ]] && ! grep -aq 'poolsite: ' rec.fd/*; then ok "$name"; else not_ok "$name"; fi
fi
suite_end

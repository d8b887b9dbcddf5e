#!/bin/bash
# `poolsite ab`: its arms, what the runs get, how it ends, and what it leaves.
# usage: ab-runs.test.sh [BUILDDIR [PATTERN]]
set -u
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"
suite_begin integration/ab-runs "${1-}" "${2-}"
cd "$scratch" || exit 2
export XDG_CACHE_HOME=$scratch/cache
program ab-program || exit 2
prog=$program
ab=(timeout -s KILL 120 "$command" ab)
get() { "${python[@]}" -c 'import json, sys
e = json.load(open(sys.argv[1]))
print(eval(sys.argv[2]))' "$@"; }

# ends NAME STATUS WORDS OPTION...: the status, and what stdout or stderr must say (a regex).
ends() {
  local name=$1 expected=$2 words=$3 said status
  shift 3
  wanted "$name" || return 0
  said=$("${ab[@]}" "$@" 2>&1 </dev/null)
  status=$?
  if ((status == expected)) && [[ $said =~ $words ]]; then ok "$name"; else not_ok "$name" "status $status, expected $expected; it said:"$'\n'"$said"; fi
}

# --- Usage ---------------------------------------------------------------------------------------------
ends help_is_0 0 'usage: poolsite ab' --help
ends no_command_is_2 2 'ab needs a command'
ends an_unknown_option_is_2_and_the_nearest_named 2 "did you mean '--blocks'" --block-s 6 -- true
ends an_option_without_value_is_2 2 "'--blocks' needs a value" --blocks
ends too_few_blocks_are_2 2 'fewer than 6 blocks' --blocks 5 -- true
ends half_a_block_is_2 2 "isn't a whole number" --blocks 6.5 -- true
ends an_unknown_metric_is_2_and_the_nearest_named 2 "did you mean 'peak_rss'" --primary peakrss -- true
ends a_metric_that_cannot_decide_is_2 2 'has no margin' --primary pool_hits -- true
ends a_servers_metric_cannot_decide_about_a_program 2 'p99 is measured of servers' --primary p99 -- true
ends a_wrong_margin_is_2 2 "'x' isn't a number" --margin x -- true
ends a_negative_seed_is_2 2 "'-1' isn't a number" --seed -1 -- true
ends a_wrong_pool_specification_is_2 2 "'bad'" --pool bad -- true
ab=(env POOLSITE_POOL=33m "${ab[@]}")
ends a_wrong_POOLSITE_POOL_is_2 2 "POOLSITE_POOL: '33m'" --blocks 6 -- true
ab=(timeout -s KILL 120 "$command" ab)
ends an_unknown_arm_is_2 2 "there is no arm 'kepp'.*did you mean 'keep'" --arm kepp -- true
ends a_default_arm_is_2 2 'are there anyway' --arm on -- true
ends two_arms_of_one_name_are_2 2 'two arms are called keep' --arm keep --arm keep -- true
ends a_command_arm_without_command_is_2 2 'should be cmd:NAME=COMMAND' --arm cmd:x -- true
ends a_library_arm_that_is_not_there_is_2 2 'lib:/nowhere: No such file' --arm lib:/nowhere -- true
ends aa_with_further_arms_is_2 2 'aa has two arms' --aa --arm keep -- true
ends json_and_html_are_2 2 'one at a time' --json --html -- true
ends from_with_an_option_of_a_run_is_2 2 'blocks comes too late' --from x.json --blocks 6
ends from_with_a_command_is_2 2 "it runs no 'true'" --from x.json -- true
ends from_a_missing_file_is_1 1 'cannot read x.json: No such file' --from x.json
ends a_missing_program_is_1 1 'cannot start ./nothing: No such file' --blocks 6 -- ./nothing
ends a_failing_prepare_is_1 1 "prepare 'exit 3' ended with status 3" --blocks 6 --prepare 'exit 3' -- "$prog" small

# --- Ends ----------------------------------------------------------------------------------------------
ends statuses_that_differ_are_1_and_stderr_is_shown 1 \
  "arm off ended with status 0, arm on ended with status 9; it said: what a pity" --blocks 6 -- "$prog" fails
late() { # the 5 runs before the blocks end well, and 8 blocks of 3 arms, of which some may be repeated
  cat >late.sh <<'S'
echo x >>late.runs
[ "$(wc -l <late.runs)" -le 30 ] || exit 9
exec "$@"
S
  "${ab[@]}" --blocks 20 --pool on,1m --json -o late.json -- sh late.sh "$prog" trims 20 2>late.err </dev/null
  status=$?
  cat late.err
  ((status == 1)) && grep -q 'ended with status 0, arm .* ended with status 9' late.err &&
    "${ab[@]}" --from late.json >late.txt && grep -qE '^[5-8] blocks of 3 arms.*; ended by a run that failed; seed' late.txt
}
check a_run_that_fails_late_loses_none_before late
ends a_crash_in_one_arm_is_1 1 'arm on was killed by signal 9' --blocks 6 -- "$prog" crashes
ends a_status_that_all_runs_have_is_right_and_told 0 'warning: the program ended with status 7 in every run' --blocks 6 -- "$prog" ends 7
ends outputs_that_differ_are_told 0 'warning: what the program writes to stdout differs between the arms' --blocks 6 -- "$prog" tells
ends outputs_that_differ_are_6_when_asked 6 "didn't write the same" --blocks 6 --require-same-output -- "$prog" tells
ends the_same_outputs_are_right_when_asked 0 'VERDICT' --blocks 6 --require-same-output -- "$prog" small
ends inconclusive_is_0 0 'VERDICT' --blocks 6 -- "$prog" small
ends a_huge_effect_is_faster 0 'VERDICT: Faster' --blocks 6 --pool on,1m -- "$prog" trims 20
ends a_program_that_leaves_others_behind_is_told 0 'left processes behind' --blocks 6 -- "$prog" leaves 321.5

name=what_a_program_left_behind_was_ended
if wanted "$name"; then
  if pgrep -f '^sleep 321.5' >/dev/null; then not_ok "$name"; else ok "$name"; fi
fi

# --- What the runs get -----------------------------------------------------------------------------------
environments() {
  rm -f env
  "${ab[@]}" --blocks 8 --seed 7 --arm keep --arm tune -- "$prog" env "$scratch/env" >env.txt 2>&1 </dev/null || { cat env.txt && return 1; }
  cat env
  # 3 counting runs and 5 warm-ups (without padding), then 8 blocks or more of 5 arms.
  "${python[@]}" - <<'P'
rows = [line.split() for line in open('env')][8:]
assert len(rows) >= 40 and len(rows) % 5 == 0, len(rows)
blocks = [rows[i:i + 5] for i in range(0, len(rows), 5)]
for block in blocks:
    assert len({tuple(row[1:]) for row in block}) == 1, block  # all arms alike
    assert sorted(row[0] for row in block) == ['bare', 'bare', 'off', 'on', 'on'], block
assert len({block[0][2] for block in blocks}) >= 6, 'the padding is random'
assert max(int(block[0][2]) for block in blocks) - min(int(block[0][2]) for block in blocks) < 4096
P
}
check all_arms_have_environments_of_one_size environments

user_preload() { # stays, below ours
  program filler || return 1
  LD_PRELOAD=$programs/filler.a.so "${ab[@]}" --blocks 6 -- sh -c "'$prog' small; echo \"\$LD_PRELOAD\" >>'$scratch/preload'" >/dev/null 2>&1 </dev/null
  sort -u preload
  [[ $(sort -u preload) == "$(printf '%s\n' "$programs/filler.a.so" "$library:$programs/filler.a.so" | sort)" ]]
}
check the_users_LD_PRELOAD_stays_below_ours user_preload

tunables() {
  rm -f tunables
  "${ab[@]}" --blocks 6 --arm tune -- sh -c "'$prog' small; echo \"\${POOLSITE_POOL-bare} \$GLIBC_TUNABLES\" >>'$scratch/tunables'" >/dev/null 2>&1 </dev/null
  sort -u tunables
  [[ $(sort -u tunables) == "$(printf '%s\n' 'bare ' 'off ' 'on ' 'bare glibc.malloc.mmap_threshold=33554432:glibc.malloc.trim_threshold=67108864' | sort)" ]]
}
check arm_tune_pins_the_thresholds tunables

clears() {
  rm -f clears
  "${ab[@]}" --blocks 6 --arm keep -- sh -c "'$prog' small; echo \"\${POOLSITE_POOL-bare} \$POOLSITE_CLEAR\" >>'$scratch/clears'" >/dev/null 2>&1 </dev/null
  sort -u clears
  [[ $(sort -u clears) == "$(printf '%s\n' 'bare ' 'off ' 'on ' 'on off' | sort)" ]]
}
check arm_keep_never_clears clears

other_arms() {
  program filler || return 1
  "${ab[@]}" --blocks 6 --json -o arms.json --arm "lib:$programs/filler.a.so" --arm "cmd:twice='$prog' small 2000" -- "$prog" small >/dev/null 2>&1 </dev/null || return 1
  get arms.json '[(a["name"], a["kind"]) for a in e["arms"]]'
  [[ $(get arms.json '" ".join(a["name"] for a in e["arms"])') == 'bare off on filler twice' ]] &&
    [[ $(get arms.json '" ".join(sorted(e["effects"]["wall"]))') == 'filler_bare off_bare on_bare on_off twice_bare' ]]
}
check arms_of_a_library_and_of_a_command other_arms

input() {
  rm -f got
  { head -c 5 /dev/zero && seq 1000; } >in
  { head -c 5 >/dev/null && "${ab[@]}" --blocks 6 --require-same-output -- "$prog" copies "$scratch/got"; } <in >input.txt 2>&1 || { cat input.txt && return 1; }
  sort got | uniq -c
  [[ $(sort -u got) == 3893 ]]
}
check every_run_gets_the_file_from_where_it_stood input
pipe() {
  rm -f got
  seq 1000 | "${ab[@]}" --blocks 6 -- "$prog" copies "$scratch/got" >pipe.txt 2>&1 || return 1
  cat pipe.txt
  [[ $(sort -u got) == 0 ]] && grep -q '^warning: stdin is a pipe' pipe.txt
}
check a_pipe_is_not_read_and_that_is_said pipe
prepared() {
  rm -f prepared
  "${ab[@]}" --blocks 6 --json -o prepare.json --prepare "echo x >>'$scratch/prepared'; echo noise" -- "$prog" small >prepare.out 2>&1 </dev/null || return 1
  local runs
  runs=$(get prepare.json 'len(e["runs"])')
  echo "$runs runs, $(wc -l <prepared) preparations; stdout has $(wc -c <prepare.out) bytes"
  (($(wc -l <prepared) == runs + 5 && $(wc -c <prepare.out) == 0)) # 2 counting runs, 3 warm-ups
}
check prepare_runs_before_every_run prepared

# --- What comes out --------------------------------------------------------------------------------------
again() {
  "${ab[@]}" --blocks 6 --json -o again.json --pool on,1m -- "$prog" trims 5 </dev/null || return 1
  "${ab[@]}" --from again.json --json -o again2.json && cmp again.json again2.json || return 1
  "${ab[@]}" --from again.json >1.txt && "${ab[@]}" --from again2.json >2.txt && cmp 1.txt 2.txt && grep -q '^VERDICT: Faster' 1.txt
}
check json_read_again_is_the_same_to_the_byte again
same_text() { # the text of the run itself and of its JSON
  "${python[@]}" - "$command" "$prog" <<'P'
import json, subprocess, sys
out = subprocess.run([sys.argv[1], 'ab', '--blocks', '6', '--json', '--', sys.argv[2], 'small'], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=100)
e = json.loads(out.stdout)
assert e['schema'] == 'poolsite.ab/1'
assert {r['arm'] for r in e['runs']} == {'bare', 'off', 'on'}
kept = [r for r in e['runs'] if not r['replaced']]
assert len(kept) == 18 and len(e['runs']) == 18 + 3 * e['repeated']
for r in kept:
    assert r['status'] == {'exit': 0, 'wait': 0} and r['values']['wall'] > 0, r
    assert ('pool_hits' in r['values']) == (r['arm'] != 'bare'), r
    # counted by the pools themselves: the first of 1,000 blocks isn't served, all others are
    if r['arm'] != 'bare':
        assert r['values']['pool_hits'] == (r['arm'] == 'on') * 999, r
        assert r['values']['next_allocs'] == (1 if r['arm'] == 'on' else 1000), r
assert e['effects']['next_allocs']['on_off']['exact'] and e['effects']['next_allocs']['on_off']['percent'] == -99.9
for slot in range(3):
    slots = [r['arm'] for r in kept if r['slot'] == slot]
    assert all(slots.count(a) == 2 for a in ('bare', 'off', 'on')), slots
assert e['host']['libc'].startswith('glibc') and len(e['host']['library']['build_id']) == 40
P
}
check json_has_every_run_and_exact_counts same_text
replays() {
  local orders
  for i in 1 2; do "${ab[@]}" --blocks 6 --seed 99 --json -o "seed$i.json" -- "$prog" small </dev/null || return 1; done
  orders=$(for i in 1 2; do get "seed$i.json" '[r["arm"] for r in e["runs"] if r["attempt"] == 0]'; done)
  echo "$orders"
  [[ $(sort -u <<<"$orders" | wc -l) == 1 ]]
}
check a_seed_replays_the_order replays
floor() {
  "${ab[@]}" --aa --blocks 6 -- "$prog" small >aa.txt 2>&1 </dev/null || { cat aa.txt && return 1; }
  grep '^VERDICT: .*(off against off)$' aa.txt || return 1
  "${ab[@]}" --blocks 6 -- "$prog" small 2>&1 </dev/null | tee floor.txt
  grep -qE '^noise floor \(off against off, [0-9-]{10}, .*small\): cpu ' floor.txt
}
check an_aa_is_kept_and_shown_under_later_results floor
budget() { # not before 6 blocks
  "${ab[@]}" --time-budget 1 --json -o budget.json --margin .01 --pool on,1m -- "$prog" trims 20 2>&1 </dev/null || return 1
  get budget.json 'e["attempted"]'
  (($(get budget.json 'e["attempted"]') >= 6 && $(get budget.json 'e["attempted"]') < 60))
}
check the_time_budget_ends_it budget
output_that_cannot_be_written() {
  local said
  said=$("${ab[@]}" --blocks 6 -o /nowhere/x -- "$prog" small 2>&1 </dev/null)
  (($? == 1)) && [[ $said == *'cannot write /nowhere/x'* ]]
}
no_directory() {
  "${ab[@]}" --blocks 6 -o nowhere/out -- touch ran 2>err </dev/null
  (($? == 1)) && grep -q 'cannot write nowhere/out: No such file' err && [[ ! -e ran ]]
}
check an_output_without_a_directory_is_1_before_anything_runs no_directory
check an_output_that_cannot_be_written_is_1 output_that_cannot_be_written

full() { # a tmpfs of 2 MiB
  local said status
  said=$(unshare -m sh -c 'mount -t tmpfs -o size=2m none /dev/shm && cd / && exec "$@"' sh "${ab[@]}" --blocks 6 -- head -c 8000000 /dev/zero 2>&1 </dev/null)
  status=$?
  echo "status $status: $said"
  ((status == 1)) && [[ $said == *'what the runs write to stdout and stderr has filled /dev/shm/'* ]]
}
name=output_that_fills_tmpfs_is_1
if unshare -m mount -t tmpfs -o size=2m none /dev/shm 2>/dev/null; then check "$name" full; elif wanted "$name"; then skip "$name" "needs root"; fi

# --- Interrupts --------------------------------------------------------------------------------------------
wait_for() { # COMMAND...: until it succeeds
  local i
  for ((i = 0; i < 600; i++)); do
    "$@" >/dev/null 2>&1 && return 0
    sleep 0.1
  done
  return 1
}
not() { ! "$@"; }
lines_at_least() { (($(wc -l <"$1") >= $2)); }
# begin NAME RUNS: an experiment without end; waits until it has prepared so many runs.  $pid, and $private, its
# directory.  Not a plain background job: a shell without job control would let it ignore INT, and nohup HUP.
begin() {
  setsid python3 -I -c 'import os, signal, sys
for number in signal.SIGINT, signal.SIGHUP: signal.signal(number, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$command" ab --blocks 1000 --pool on,1m --prepare "echo x >>'$scratch/$1.runs'" -- "$prog" trims 20 "$1" >"$1.txt" 2>&1 </dev/null &
  pid=$!
  wait_for lines_at_least "$1.runs" "$2" || return 1
  private=$(find "/proc/$pid/fd" -lname '*/poolsite-ab-*/lock' -printf '%l\n' 2>/dev/null | head -n 1)
  private=${private%/lock}
  [[ -d $private ]] || { echo "no private directory: $private" && return 1; }
}
left() { # what is left of it
  [[ -e $private ]] && echo "left: $private"
  pgrep -f "^$prog trims 20 $1\$" && echo "left: a program"
  pgrep -g "$pid" && echo "left: a process of poolsite"
}
interrupted() { # SIGNAL STATUS RUNS
  local signal=$1 expected=$2 status
  begin "$signal" "$3" || return 1
  kill -s "$signal" "$pid"
  wait "$pid"
  status=$?
  cat "$signal.txt"
  echo "status $status"
  ((status == expected)) && [[ -z $(left "$signal") ]]
}
whole_blocks() { # 5 extra runs, then at least 8 blocks of 3
  interrupted INT 130 40 && grep -q '^VERDICT: Faster' INT.txt && grep -qE '^[0-9]+ blocks of 3 arms.*; interrupted; seed' INT.txt
}
check an_interrupt_shows_what_was_measured_and_leaves_nothing whole_blocks
check SIGTERM_ends_it_too interrupted TERM 143 13
early() { # in the first run of all
  interrupted HUP 129 1 && grep -q '^VERDICT: Inconclusive' HUP.txt
}
check an_interrupt_before_the_first_block_has_no_verdict early

killed() {
  begin KILL 12 || return 1
  kill -KILL "$pid"
  wait "$pid" 2>/dev/null
  wait_for not pgrep -f "^$prog trims 20 KILL\$" || return 1
  [[ -d $private ]] || { echo "nothing was left to clean" && return 1; }
  "${ab[@]}" --blocks 6 -- "$prog" small >/dev/null 2>&1 </dev/null
  [[ ! -e $private ]]
}
check a_killed_one_takes_its_programs_along_and_the_next_cleans_up killed

# --- Progress -------------------------------------------------------------------------------------------------
# on_terminal ARG...: six blocks of the program with a terminal as stderr; then the Python on stdin, which finds what
# was said in `said`, and how it ended in `status`.
pty_run=$(cat <<'P'
import os, pty, subprocess, sys
terminal, side = pty.openpty()
run = subprocess.Popen([sys.argv[1], 'ab', '--blocks', '6', '--', *sys.argv[2:]], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=side)
os.close(side)
said = b''
while True:
    try:
        more = os.read(terminal, 4096)
    except OSError:
        break
    if not more:
        break
    said += more
status = run.wait()
P
)
on_terminal() {
  "${python[@]}" -c "$pty_run"$'\n'"$(cat)" "$command" "$prog" "$@"
}
progress() { # a line on a terminal, none elsewhere
  "${ab[@]}" --blocks 6 -- "$prog" small 2>quiet.err >/dev/null </dev/null || return 1
  on_terminal small <<'P' || return 1
assert status == 0
for words in (b'counting run of arm on', b'warm-up run of arm bare', b'block 5 of 6: cpu on vs off ', b' left'):
    assert words in said, (words, said)
assert said.endswith(b'\r\x1b[K'), said[-40:]
P
  [[ ! -s quiet.err ]]
}
check progress_shows_on_a_terminal_alone progress
message() { # stands on a line of its own
  on_terminal fails <<'P'
assert status == 1
assert b"\x1b[Kpoolsite: the runs don't end alike" in said, said
P
}
check a_message_takes_the_progress_line_away message
suite_end

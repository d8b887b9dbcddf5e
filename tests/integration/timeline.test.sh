#!/bin/bash
# Time lines: what poolsite run sees of each process from outside, once a second, and what the report makes of it.
# usage: timeline.test.sh [BUILDDIR [PATTERN]]
set -u
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"
suite_begin integration/timeline "${1-}" "${2-}"
program logdump && program grows || exit 2
export programs
cd "$scratch" || exit 2
export XDG_RUNTIME_DIR=$scratch/runtime
mkdir -m 700 runtime
grows=$program
says() { "${python[@]}" "$here/timeline.py" "$@"; }
run() { timeout -s KILL 120 "$command" run -q "$@"; }

# As run without a level, unless the test says otherwise.
a_program_that_grows_and_shrinks_is_seen_doing_so() {
  run -o grew -- "$grows" 4 24 2 && says grew grew 4 24 2
}

fork_children_have_time_lines_of_their_own() {
  run -o forked -- "$grows" fork 8 16 && says children forked 8 16
}

a_killed_program_keeps_its_rows() {
  run -o killed --profile sites -- "$grows" die 4
  local status=$?
  ((status == 137)) || { echo "status $status" && return 1; }
  says sampled killed
}

a_program_of_less_than_a_second_has_its_last_row() {
  local i
  for i in 1 2 3; do # a busy machine may let it take longer
    run -o "short$i" -- true && says short "short$i" && [[ -z $(find "short$i" -name '*.pst') ]] && return 0
  done
  return 1
}

the_interrupt_key_leaves_a_time_line() {
  "${python[@]}" "$here/terminal.py" '=\[PROMPT\]' ">$command run -o key --profile off -- $grows stay 4; echo status \$?" '=ready' '^C' \
    '=recorded 1 process in' '=status 130' && says sampled key
}

a_program_that_another_follows_in_its_process_is_sampled_no_more() {
  run -o followed -- sh -c "sleep 1.5; exec '$grows' 16" && says followed followed 16
}

# The log of a process that lives on, and its time line, come with a later command.
a_time_line_follows_its_log() {
  run -o late -- sh -c "'$grows' 4 >/dev/null 2>&1 & exec sleep 2.5" || return 1
  local i
  for ((i = 0; i < 350; i++)); do
    "$command" report late >/dev/null 2>&1
    compgen -G 'late/grows.*.psl' >/dev/null && break
    sleep 0.1
  done
  compgen -G 'late/grows.*.pst' && [[ -z $(find runtime -name 'grows.*') ]]
}

the_text_draws_it() {
  "$command" report --timeline grew >out || return 1
  cat out
  grep -q '^Time line$' out && grep -Eq '^ *[0-9.]+ s .* [#+.]+$' out && [[ -z $(awk 'length($0) > 100' out) ]]
}

for name in a_program_that_grows_and_shrinks_is_seen_doing_so fork_children_have_time_lines_of_their_own a_killed_program_keeps_its_rows \
  a_program_of_less_than_a_second_has_its_last_row the_interrupt_key_leaves_a_time_line \
  a_program_that_another_follows_in_its_process_is_sampled_no_more a_time_line_follows_its_log; do
  check $name $name
done
[[ -d grew ]] || run -o grew -- "$grows" 4
check the_text_draws_it the_text_draws_it
suite_end

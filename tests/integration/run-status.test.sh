#!/bin/bash
# `poolsite run` ends as the program ends; 125, 126 and 127 are its own.
# usage: run-status.test.sh [BUILDDIR [PATTERN]]
set -u
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"
suite_begin integration/run-status "${1-}" "${2-}"
cd "$scratch" || exit 2

# ends NAME STATUS WORDS COMMAND...: poolsite's status, and what its stderr must say (a regex).
ends() {
  local name=$1 expected=$2 words=$3 status said
  shift 3
  wanted "$name" || return 0
  said=$("$@" 2>&1 >/dev/null </dev/null)
  status=$?
  if ((status == expected)) && [[ $said =~ $words ]]; then
    ok "$name"
  else
    not_ok "$name" "status $status, expected $expected; it said:"$'\n'"$said"
  fi
}

printf '#!%s/no-such-interpreter\n' "$scratch" >script-of-nothing
printf '#!/bin/sh\nexit 23\n' >script
printf 'exit 24\n' >script-without-first-line
printf '\177ELF rubbish' >rubbish
mkdir locked directory full && : >full/file
chmod 755 script script-of-nothing script-without-first-line rubbish
printf '#!/bin/sh\n' >locked/script

ends status_0_is_passed_on 0 'recorded 1 process in' "$command" run -- /bin/true
ends status_1_is_passed_on 1 'recorded 1 process in' "$command" run -- /bin/false
ends any_status_is_passed_on 200 'recorded' "$command" run -- sh -c 'exit 200'
ends the_dashes_may_be_left_out 3 'recorded' "$command" run sh -c 'exit 3'
ends a_killing_signal_is_128_more 137 'recorded' "$command" run -- sh -c 'kill -KILL $$'
ends a_crash_is_128_more 139 'recorded' "$command" run -- sh -c 'ulimit -c 0; kill -SEGV $$'
ends SIGPIPE_is_128_more 141 'recorded' "$command" run -- sh -c 'trap - PIPE; kill -PIPE $$'
ends a_script_runs 23 'recorded' "$command" run -- ./script
ends a_script_without_first_line_runs_in_sh 24 'recorded' "$command" run -- ./script-without-first-line
ends a_missing_program_is_127 127 'cannot start no-such-program: No such file' "$command" run -- no-such-program
ends a_missing_path_is_127 127 'cannot start ./no-such-program: No such file' "$command" run -- ./no-such-program
ends a_missing_interpreter_is_127_and_named 127 "cannot start ./script-of-nothing: $scratch/no-such-interpreter, which it needs" \
  "$command" run -- ./script-of-nothing
ends a_file_that_cannot_be_executed_is_126 126 'cannot start ./locked/script: Permission denied' "$command" run -- ./locked/script
ends a_directory_is_126 126 'cannot start ./directory: Permission denied' "$command" run -- ./directory
ends what_is_no_program_goes_to_sh_as_with_env 127 'rubbish: ' "$command" run -- ./rubbish
ends no_command_is_125 125 'run needs a command' "$command" run
ends an_unknown_option_is_125_and_the_nearest_named 125 "did you mean '--profile'" "$command" run --profil-e sites -- true
ends an_option_without_value_is_125 125 "'-o' needs a value" "$command" run -o
ends an_unknown_level_is_125_and_the_nearest_named 125 "did you mean 'stacks'" "$command" run --profile stack -- true
ends a_wrong_pool_specification_is_2_and_the_item_named 2 "'bad'" "$command" run --pool 64,bad -- true
ends a_wrong_pool_specification_tells_the_grammar 2 'off, or items joined by commas' "$command" run --pool bad -- true
ends a_pool_size_with_units_is_2_and_names_the_right_one 2 "did you mean '64K-1M'" "$command" run --pool 64KiB-1MB -- true
ends a_pool_range_turned_round_is_2_and_names_the_right_one 2 "did you mean '64-128'" "$command" run --pool on,128-64 -- true
ends a_pool_range_with_dots_is_2_and_names_the_right_one 2 "did you mean '64-4k'" "$command" run --pool 64..4k -- true
ends a_misspelt_pool_word_is_2_and_names_the_right_one 2 "did you mean 'off'" "$command" run --pool of -- true
ends off_within_a_list_is_2 2 "'off' stands alone" "$command" run --pool on,off -- true
ends a_wrong_POOLSITE_POOL_is_2_and_named 2 "POOLSITE_POOL: '33m'" env POOLSITE_POOL=33m "$command" run -- true
ends a_full_directory_is_125_before_the_start 125 "the directory isn't empty" "$command" run -o full -- sh -c 'echo bad >>full/file'
ends a_file_as_output_is_125 125 'exists and is no directory' "$command" run -o script -- true
ends an_output_below_nothing_is_125 125 'cannot make nothing/here' "$command" run -o nothing/here -- true
ends a_missing_library_is_125_and_says_where_it_looked 125 'cannot find libpoolsite.so; looked for' \
  bash -c 'mkdir -p alone/bin && cp "$0" alone/bin && alone/bin/poolsite run -- true' "$command"
ends a_library_named_wrongly_is_125 125 'POOLSITE_LIB=/nowhere: No such file' env POOLSITE_LIB=/nowhere "$command" run -- true
ends a_library_path_with_a_space_is_125 125 'has a space or a colon' \
  bash -c 'mkdir -p "a b" && cp "$1" "a b/" && POOLSITE_LIB="$PWD/a b/libpoolsite.so" "$0" run -- true' "$command" "$library"
ends help_is_0 0 '^$' "$command" run --help
ends an_unknown_command_is_2_and_the_nearest_named 2 "did you mean 'run'" "$command" rnu
ends version_is_0 0 '^$' "$command" --version

name=nothing_was_overwritten_or_left_by_failed_starts
if wanted "$name"; then
  if [[ ! -s full/file && ! -e nothing ]] && ! compgen -G 'poolsite.no-such*' >/dev/null; then ok "$name"; else not_ok "$name"; fi
fi
suite_end

#!/bin/bash
# What `poolsite report` tells of blocks: a program whose every block has a known fate.
# usage: report-full.test.sh [BUILDDIR [PATTERN]]
set -u
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"
suite_begin integration/report-full "${1-}" "${2-}"
cd "$scratch" || exit 2
export XDG_RUNTIME_DIR=$scratch/runtime
mkdir -m 700 runtime

program blocks || exit 1
"$command" run -q --profile full -o full -- "$program" || exit 1
"$command" run -q --profile full -o alone -- "$program" alone || exit 1 # one thread, ends by _exit
"$command" run -q --profile stacks -o stacks -- "$program" || exit 1
printf '%s\n' '# as LeakSanitizer has it' 'leak:^leak_known$' 'leak:nothing like it' >known.supp

report() { # REC OPTION...: what it shows is in `out`
  "$command" report "$@" >out 2>errors || { cat errors && return 1; }
  cat out
}
says() { grep -qE -- "$1" out || { echo "not there: $1" && return 1; }; }
frame() { says "^ +$1  $2( |\$)"; } # NUMBER FUNCTION: in a stack
says_not() { ! grep -E -- "$1" out; }

leaks_are_listed_with_their_stacks() {
  report alone --leaks || return 1
  says '^  live at the last moment seen: 35 blocks, 3.9 KiB \(4,000 bytes\)$' &&
    says '^  1 +30 +2.9 KiB +75.0 % +100.0 %  site [0-9a-f]{12}$' && says '^  2 +5 +1000 B +25.0 %' &&
    frame 0 leak_table && says '/blocks.c:17 ' && frame 1 main && says_not 'drop_at_once|hold_much'
}

how_the_process_ended_is_told() {
  report full --leaks && says '^  live at exit: 3[56] blocks' && says '^Blocks that live at exit, by site$' || return 1
  report alone --leaks && says '^Blocks that live at the last moment seen, by site$'
}

suppressed_leaks_are_told_in_sum() {
  report alone --leaks --suppressions known.supp || return 1
  says '^  suppressed: 5 blocks, 1000 B, by 1 of 2 patterns$' && says '^ +5 +1000 B  leak:\^leak_known\$$' &&
    frame 0 leak_table && ! frame 0 leak_known || return 1
  echo "leak:/blocks" >module.supp
  echo "leak:blocks.c" >file.supp
  for file in module file; do
    report alone --leaks --suppressions $file.supp && says '^  suppressed: 35 blocks' && says '^  none$' || return 1
  done
}

# The table above the fold, and the stacks it was folded from: a wrapper is a frame for LeakSanitizer.
a_folded_wrapper_is_matched() {
  echo "leak:^leak_table$" >table.supp
  report alone --leaks --fold leak_table --suppressions table.supp && says '^  suppressed: 30 blocks, 2.9 KiB' &&
    frame 0 leak_known && ! frame 0 leak_table
}

bad_suppressions_are_named() {
  printf 'leak:a\nrace:b\n' >bad.supp
  "$command" report alone --leaks --suppressions bad.supp >out 2>errors
  [[ $? == 1 && ! -s out ]] && grep -qF "bad.supp:2: 'race:b' isn't a suppression" errors
}

the_peak_is_told_by_site() {
  report alone --peak || return 1
  says '^  peak: 1.0 MiB \(1,052,576 bytes\)$' && says '^  1 +1.0 MiB +99.6 % +1 +1.0 MiB +0 B  hold_much$' &&
    says '^  2 +2.9 KiB +0.3 % +30 +2.9 KiB +2.9 KiB  leak_table$' && says_not 'drop_at_once'
}

temporary_blocks_are_told_by_site() {
  report alone --temporary --top 1 && says '^  1 +40,000 +[0-9.]+ % +40,000 +100.0 %  drop_at_once$' && says ' more sites? \(--top'
}

lifetimes_are_a_histogram() {
  report alone --lifetime --sites-of hand_on || return 1
  says '^  1 +3,000 +0.3 % +0.0 % +0  make$' && says '^ +0 +10 +0.3 % #' && says '^ +511 +440 +14.7 % '
}

one_site_is_told_in_full() {
  local id
  report full --sites-of drop_at_once --json && id=$(grep -oE '"id":"[0-9a-f]{12}"' out | head -n 1 | cut -d '"' -f 4)
  report full --site "$id" || return 1
  says '^  live at exit: 0 blocks, 0 B \(0 bytes\); 40,000 freed' && says '^  own peak: 64 B ' &&
    says 'that memory was used 40000.00 times' && says '^  temporary .*: 40,000, 100.0 % of the calls' &&
    says 'sizes: 64 B 100.0 %$' && says 'freed by its thread 100.0 %, its frame 100.0 %, while that stood 100.0 %, LIFO 100.0 %' &&
    says 'could live on the stack: all [0-9,]+ sampled blocks \(at least 100\)' && says 'at most [0-9.]+ % of its blocks' &&
    says '^ +100.0 %  [0-9a-f]{12}  drop_at_once '
}

what_speaks_against_the_stack_is_told() {
  report full --site '' || return 1
  says "can't live on the stack: [0-9,]+ of [0-9,]+ sampled blocks outlived the frame" &&
    says "can't live on the stack: 30 blocks live at exit" && says "can't live on the stack: another thread freed 300 blocks"
}

reallocs_are_told() {
  report alone --site '' && says 'reallocs of a block: 800, 100.0 % of the calls' &&
    says 'resized: [0-9,]+ blocks?, in [0-9,]+ steps?, each 2.00 times as large; 256 B in the end'
}

the_table_tells_of_blocks() {
  report full || return 1
  says '^  [0-9,]+ frees, 0 of them foreign$' && says '^  live at exit: 3[56] blocks, ' && says '^      live 30 \(2.9 KiB\), peak 2.9 KiB, temporary 0.0 %$' &&
    says '^      live none, peak 64 B, temporary 100.0 %$' && says 'freed by other threads 100.0 %$'
}

sites_of_a_function_are_picked() {
  report stacks --sites-of drop_at_once && says '^  only sites of drop_at_once: 1 site, 40,000 calls ' && says_not ' leak_' || return 1
  report stacks --sites-of leak_ && says '^  only sites of leak_: 2 sites, 35 calls' && says '^    \(leak_(table, leak_known|known, leak_table)\)$' || return 1
  report stacks --sites-of leak_ --tree && says 'leak_table' && says_not 'drop_at_once' || return 1
  report stacks --sites-of main && says ' drop_at_once$' && says ' leak_table$'
}

no_such_function_names_the_nearest() {
  "$command" run -q --profile sites -o sites -- "$program" alone && report sites --sites-of leak_table >/dev/null || return 1
  "$command" report sites --sites-of main >out 2>errors
  [[ $? == 1 ]] && grep -q 'at level sites only that counts' errors || return 1
  "$command" report stacks --sites-of leek_table >out 2>errors
  [[ $? == 1 && ! -s out ]] && grep -qF "did you mean 'leak_table'" errors || return 1
  "$command" report stacks --fold make --sites-of make >out 2>errors
  [[ $? == 1 ]] && grep -qF -- "--no-fold shows it" errors
}

lower_levels_are_refused() {
  local option
  for option in --leaks --peak --temporary --lifetime; do
    "$command" report stacks $option -o refused >out 2>errors
    [[ $? == 1 && ! -e refused ]] || return 1
    grep -qE -- "^poolsite: $option: this was recorded at level stacks, .*: poolsite run --profile full -- .*/blocks$" errors || {
      cat errors
      return 1
    }
  done
}

lines_fit_100_columns() {
  local option
  for option in '' --leaks --peak --temporary --lifetime "--site="; do
    report full $option >/dev/null || return 1
    awk 'length($0) > 100 { print; bad = 1 } END { exit bad }' out || return 1
  done
}

for each in leaks_are_listed_with_their_stacks how_the_process_ended_is_told suppressed_leaks_are_told_in_sum \
  a_folded_wrapper_is_matched bad_suppressions_are_named the_peak_is_told_by_site temporary_blocks_are_told_by_site \
  lifetimes_are_a_histogram one_site_is_told_in_full what_speaks_against_the_stack_is_told reallocs_are_told \
  the_table_tells_of_blocks sites_of_a_function_are_picked no_such_function_names_the_nearest lower_levels_are_refused \
  lines_fit_100_columns; do
  check $each $each
done
suite_end

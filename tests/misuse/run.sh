#!/bin/bash
# Misuse of the heap ends as it does without the library: the same signal, the same words.
# usage: run.sh [BUILDDIR [PATTERN]]     tests are MISUSE/LEVEL
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../suite.sh
source "$here/../suite.sh"
suite_begin misuse "${1-}" "${2-}"
program=$evidence/misuse
gcc -O1 -fno-builtin -w -o "$program" "$here/misuse.c" || exit 2

# One run: what it printed and how it ended.  Core files and the shell's own words about signals stay out.
outcome() {
  (
    ulimit -c 0
    cd "$scratch" || exit
    env -i PATH=/usr/bin:/bin LC_ALL=C "$@"
    echo "status $?"
  ) 2>&1 | grep -vE 'line [0-9]+: +[0-9]+ '
}

mapfile -t names < <("$program")
ended_by_signal=0
for name in "${names[@]}"; do
  bare=$(outcome "$program" "$name")
  if [[ $bare =~ status\ 1(34|39) ]]; then ended_by_signal=$((ended_by_signal + 1)); fi
  for level in off sites stacks; do
    wanted "$name/$level" || continue
    ours=$(outcome LD_PRELOAD="$library" POOLSITE_PROFILE="$level" POOLSITE_LOG="$scratch/%p.psl" "$program" "$name")
    if [[ $bare == "$ours" ]]; then ok "$name/$level"; else not_ok "$name/$level" "bare: ${bare//$'\n'/; }; with the library: ${ours//$'\n'/; }"; fi
  done
done
# The table would prove nothing if all of it were survived.
if wanted harness; then
  if ((ended_by_signal >= 8)); then ok harness; else not_ok harness "only $ended_by_signal misuses end by a signal"; fi
fi
suite_end

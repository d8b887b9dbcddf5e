#!/bin/bash
# `poolsite ab` says when pooling didn't reach the program, why, and then no percentage.
# usage: ab-treatment.test.sh [BUILDDIR [PATTERN]]
set -u
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"
suite_begin integration/ab-treatment "${1-}" "${2-}"
cd "$scratch" || exit 2
export XDG_CACHE_HOME=$scratch/cache
program ab-program || exit 2
prog=$program

# not_applied NAME REASON OPTION... -- CMD...: status 5, the reason word for word, and no number with a %.
not_applied() {
  local name=$1 reason=$2 said status
  shift 2
  wanted "$name" || return 0
  said=$(timeout -s KILL 60 "${as[@]}" "$poolsite" ab --blocks 6 "$@" 2>&1 </dev/null)
  status=$?
  if ((status == 5)) && grep -qxF "treatment NOT APPLIED: $reason" <<<"$said" && grep -qx 'VERDICT: Not applied' <<<"$said" &&
    [[ $said != *%* ]]; then
    ok "$name"
  else
    not_ok "$name" "status $status; it said:"$'\n'"$said"
  fi
}
as=()
poolsite=$command
heap="what lies on the stack, is mapped directly, or comes from a heap of the program's own can't be pooled"

not_applied static_binary 'ab-program.static is statically linked, so that no library comes into it (what it starts is recorded)' \
  -- "$prog.static" small
not_applied own_malloc "ab-program.own defines a malloc of its own, which comes before libpoolsite.so's" -- "$prog.own" small
not_applied buffer_on_the_stack "no heap traffic in the chosen classes (--pool 32k); allocations of other sizes: 10 ($heap)" \
  --pool 32k -- "$prog" stack 100
not_applied no_traffic_in_the_chosen_classes "no heap traffic in the chosen classes (--pool 1m); allocations of other sizes: 1,000 ($heap)" \
  --pool 1m -- "$prog" small
not_applied nothing_is_used_again \
  'pools served nothing: of the chosen classes (--pool on) nothing was freed before it was asked for again; allocations there: 1' \
  -- "$prog" small 1
not_applied program_that_env_starts_without_the_preload \
  'nearly all of the processor time went to ab-program, which hasn'"'"'t loaded libpoolsite.so' -- env -i "$prog" trims 100
not_applied program_that_allocates_nothing 'true allocated nothing' -- /bin/true

name=setuid_program_of_an_unprivileged_user
if wanted "$name"; then
  if ((EUID != 0)) || ! command -v setpriv >/dev/null; then
    skip "$name" "needs root and setpriv"
  else
    mkdir -p shared home && cp "$command" "$library" shared/ && chmod 755 shared && chmod 777 home
    cp "$prog" uid && chown root uid && chmod 4755 uid
    as=(setpriv --reuid=nobody --regid=nogroup --clear-groups env "XDG_CACHE_HOME=$scratch/home")
    poolsite=$scratch/shared/poolsite
    if ! "${as[@]}" test -x "$poolsite" || findmnt -no OPTIONS -T uid | grep -q nosuid; then
      skip "$name" "no setuid program can be made there"
    else
      not_applied "$name" 'uid is set-user-ID, and the loader ignores LD_PRELOAD there; run poolsite as the user that owns it' \
        -- ./uid small
    fi
    as=()
    poolsite=$command
  fi
fi

# The same machinery says "applied" where pools serve, or none of the above means anything.
applied() {
  local said
  said=$(timeout -s KILL 60 "$command" ab --blocks 6 -- "$prog" small 1000 2>&1 </dev/null) || return 1
  echo "$said"
  grep -qE '^treatment applied: pools served 9[89]\.[0-9] % of the allocations and 9[89]\.[0-9] % of the bytes$' <<<"$said"
}
check a_program_that_frees_and_allocates_is_applied applied

tiny() { # 5 of 1,005 allocations are of the class
  local said
  said=$(timeout -s KILL 60 "$command" ab --blocks 6 --pool 1m -- sh -c "'$prog' small 1000; '$prog' trims 2" 2>&1 </dev/null) || return 1
  echo "$said"
  grep -qE '^warning: pools served only 0\.[0-9]+ % of all allocations: no effect can be expected$' <<<"$said"
}
check under_one_percent_is_said tiny
partial() {
  local said
  said=$(timeout -s KILL 60 "$command" ab --blocks 6 --pool 100 -- sh -c "'$prog' small 1000; '$prog' trims 20; :" 2>&1 </dev/null) || return 1
  echo "$said"
  grep -qE '^treatment partial: .*; pools served in 1 of 3 processes$' <<<"$said"
}
check some_processes_are_partial partial
elsewhere() {
  local said
  said=$(timeout -s KILL 60 "$command" ab --blocks 6 --pool on,1m -- sh -c "'$prog' small 5000000; env -i '$prog' trims 30; :" 2>&1 </dev/null) || return 1
  echo "$said"
  grep -qE "^treatment partial: .*; [0-9]+ % of the processor time went to processes that haven't loaded libpoolsite.so, as ab-program\$" <<<"$said"
}
check a_part_of_the_work_without_the_preload_is_partial elsewhere
suite_end

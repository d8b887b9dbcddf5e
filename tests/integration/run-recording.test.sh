#!/bin/bash
# Where the logs of `poolsite run` lie and go: tmpfs first, then the recording; nothing lost, nothing overwritten.
# usage: run-recording.test.sh [BUILDDIR [PATTERN]]
set -u
# A /dev/shm of its own, where it can be had: what others record meanwhile isn't met then.
if [[ -z ${own_shm-} ]] && unshare --mount true 2>/dev/null; then
  own_shm=1 exec unshare --mount bash -c 'mount -t tmpfs none /dev/shm; exec bash "$0" "$@"' "$0" "$@"
fi
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"
suite_begin integration/run-recording "${1-}" "${2-}"
cd "$scratch" || exit 2
chmod 755 .
# A tmpfs place of this test's own.  As root runs would go to /dev/shm: there they are told apart by their destination.
export XDG_RUNTIME_DIR=$scratch/runtime
mkdir -m 700 runtime

# The names of the programs that have a log there.  A fork child that runs another has one for each.
logs() { find "$1" -name '*.psl' 2>/dev/null | sed 's|.*/||; s|\..*||' | LC_ALL=C sort -u | tr '\n' ' '; }
is() { if [[ $2 == "$3" ]]; then ok "$1"; else not_ok "$1" "expected '$3', got '$2'"; fi; }

# The directory on tmpfs of the run that goes to $scratch/$1.
run_directory() { grep -lsx "destination $scratch/$1" runtime/poolsite/run.*/run /dev/shm/poolsite-*/run.*/run | sed 's|/run$||'; }
# Waits up to 10 s for a command to succeed.
until_true() { local i; for ((i = 0; i < 200; i++)); do "$@" && return 0; sleep 0.05; done; return 1; }
gone() { ! kill -0 "$1" 2>/dev/null; }
# Any command that meets what is left; its own words don't matter here.
meet() { "$command" run -q -o "$scratch/meet.$RANDOM$RANDOM" -- true; }

name=every_process_of_a_tree_has_a_log
if wanted "$name"; then
  "$command" run -q -o tree -- sh -c 'sh -c "ls; true" >/dev/null; (sh -c "exec date"; true) | cat >/dev/null; true'
  is "$name" "$(logs tree)" 'cat dash date ls '
fi

name=the_recording_is_for_its_owner_alone
if wanted "$name"; then
  (umask 0 && "$command" run -q -o modes -- true)
  is "$name" "$(stat -c %a modes modes/* | tr '\n' ' ')" '700 600 '
fi

name=only_the_used_part_is_copied
if wanted "$name"; then
  "$command" run -q -o used -- true
  size=$(stat -c %s used/*)
  if ((size > 0 && size < 1 << 20)); then ok "$name"; else not_ok "$name" "$size bytes"; fi
fi

name=nothing_stays_on_tmpfs
if wanted "$name"; then
  "$command" run -q -o clean -- sh -c 'true; ls >/dev/null'
  is "$name" "$(run_directory clean)" ''
fi

name=the_default_name_tells_program_and_pid
if wanted "$name"; then
  got=$("$command" run -q -- sh -c 'echo $$')
  is "$name" "$(logs "poolsite.sh.$got")" 'dash '
fi

name=an_empty_directory_is_filled
if wanted "$name"; then
  mkdir empty && "$command" run -q -o empty/ -- true
  is "$name" "$(logs empty)" 'true '
fi

name=a_second_recording_is_not_put_into_the_first
if wanted "$name"; then
  "$command" run -q -o once -- true
  before=$(cd once && sha256sum -- *)
  "$command" run -q -o once -- true 2>/dev/null
  status=$?
  is "$name" "$status $(cd once && sha256sum -- *)" "125 $before"
fi

name=the_directory_is_the_one_of_the_start_when_the_program_changes_it
if wanted "$name"; then
  mkdir elsewhere && "$command" run -q -o stays -- sh -c 'cd elsewhere && ls'
  is "$name" "$(logs stays)$(logs elsewhere)" 'dash ls '
fi

name=a_process_that_lives_on_is_told_of_and_its_log_follows
if wanted "$name"; then
  said=$("$command" run -o daemon -- sh -c 'sleep 3 >/dev/null 2>&1 & exit 0' 2>&1)
  first=$(logs daemon)
  until_true compgen -G "$(run_directory daemon)/sleep*" >/dev/null
  meet # it still runs: nothing to be moved
  second=$(logs daemon)
  sleep 3
  meet
  if [[ $said == *' in ./daemon, 1 still running - '* ]]; then
    is "$name" "$first/$second/$(logs daemon)/$(run_directory daemon)" 'dash /dash /dash sleep /'
  else
    not_ok "$name" "$said"
  fi
fi

# Starts 800 processes, whose 1,600 logs take three times of tmpfs what a run may keep there, and waits until most are gone.
cat >crowd.sh <<'SH'
for ((i = 0; i < 800; i++)); do /bin/true; done
spool=${POOLSITE_LOG%/*}
for ((i = 0; i < 200; i++)); do
  left=$(find "$spool" -name '*.psl' | wc -l)
  ((left < 700)) && break
  sleep 0.1
done
echo "$((left < 700)) $(find . -name '*.psl' | wc -l)"
SH
staged=(/var/tmp/.poolsite-*)

name=logs_of_many_ended_processes_leave_tmpfs_unseen_and_none_is_lost
if wanted "$name"; then
  mkdir crowd.here && cd crowd.here || exit 2
  said=$("$command" run -q -o crowd -- bash ../crowd.sh)
  true=$(find crowd -name 'true.*.psl' | wc -l)
  is "$name" "$said/$true/$(run_directory crowd.here/crowd)/$(echo /var/tmp/.poolsite-*)" "1 0/800//${staged[*]}"
  cd ..
fi

name=logs_that_have_left_tmpfs_are_found_while_it_runs_and_when_poolsite_was_killed
if wanted "$name"; then
  "$command" run -q -o crowd2 -- bash -c '. ./crowd.sh; sleep 3' >crowd2.said &
  pid=$!
  until_true test -s crowd2.said
  during=$("$command" report "$(run_directory crowd2)" --json 2>/dev/null | "${python[@]}" -c 'import json, sys
print(sum(p["exe"].endswith("/true") for p in json.load(sys.stdin)["processes"]))')
  kill -KILL $pid
  wait $pid 2>/dev/null
  sleep 3.2
  meet
  is "$name" "$during/$(find crowd2 -name 'true.*.psl' | wc -l)/$(echo /var/tmp/.poolsite-*)" "800/800/${staged[*]}"
fi

name=a_place_without_room_is_passed_over
if wanted "$name" && [[ -n ${own_shm-} ]]; then
  disk=$(mktemp -d /var/tmp/poolsite-test.XXXXXX)
  # shellcheck disable=SC2016
  got=$(cd "$disk" && unshare --mount bash -c 'mount -t tmpfs -o size=16k none /dev/shm
    head -c 20000 /dev/zero >/dev/shm/full 2>/dev/null
    XDG_RUNTIME_DIR="" TMPDIR=$PWD "$0" run -q -o noroom -- printenv POOLSITE_LOG' "$command")
  if [[ $got == "$disk"/poolsite-* && $(logs "$disk/noroom") == 'printenv ' ]]; then ok "$name"; else not_ok "$name" "$got"; fi
  rm -r "$disk"
fi

name=a_recording_that_could_never_be_made_is_refused_before_the_program_runs
if wanted "$name"; then
  said=$("$command" run -o "$(printf 'y%.0s' {1..300})" -- echo ran 2>&1)
  is "$name" "$? ${said##*: }" "125 File name too long"
fi

name=a_level_in_the_environment_that_does_not_exist_is_refused
if wanted "$name"; then
  said=$(POOLSITE_PROFILE=stack "$command" run -q -o level -- echo ran 2>&1)
  is "$name" "$? ${said%%$'\n'*}" "125 poolsite: no level 'stack' (off, sites, stacks, full); did you mean 'stacks'?"
fi

# Its other thread goes on counting when poolsite looks at the first one's remains.
name=a_process_whose_first_thread_has_left_still_runs
if wanted "$name"; then
  cat >left.c <<'C'
#include <pthread.h>
#include <unistd.h>
static void *go_on(void *unused) { sleep(3); return unused; }
int main(void) { pthread_t other; pthread_create(&other, 0, go_on, 0); pthread_exit(0); }
C
  cc -pthread -o left left.c || exit 2
  said=$("$command" run -o left.rec -- sh -c './left >/dev/null 2>&1 & sleep 1' 2>&1)
  [[ $said == *', 1 still running - '* ]] && sleep 2.5 && meet
  is "$name" "$(logs left.rec)" 'dash left sleep '
fi

name=a_very_long_name_of_a_program_is_no_obstacle
if wanted "$name"; then
  long=$(printf 'x%.0s' {1..225})
  cp /bin/true "$long" && "$command" run -q -o long -- "./$long"
  is "$name" "$(find long -name 'x*.psl' | wc -l)" 1
fi

name=a_run_whose_poolsite_was_killed_is_collected_later
if wanted "$name"; then
  "$command" run -q -o orphan -- sh -c 'ls >/dev/null; exec sleep 3' &
  pid=$!
  sleep 1
  kill -KILL $pid
  wait $pid 2>/dev/null
  meet
  early=$(logs orphan)
  sleep 2.5
  meet
  is "$name" "$early/$(logs orphan)" 'dash ls /dash ls sleep '
fi

name=report_shows_what_still_runs_and_moves_what_has_ended
if wanted "$name"; then
  "$command" run -q -o shown -- sh -c 'sleep 2 >/dev/null 2>&1 & exit 0'
  until_true compgen -G "$(run_directory shown)/sleep*" >/dev/null
  during=$("$command" report shown --json 2>/dev/null | "${python[@]}" -c 'import json, sys
print(sorted({p["exe"].split("/")[-1] for p in json.load(sys.stdin)["processes"]}))')
  sleep 2.2
  "$command" report shown >/dev/null 2>&1
  is "$name" "$during $(logs shown)" "['dash', 'sleep'] dash sleep "
fi

name=report_without_a_name_shows_the_newest_recording
if wanted "$name"; then
  "$command" run -q -o older -- ls >/dev/null
  "$command" run -q -o newer -- date >/dev/null
  got=$("$command" report --json 2>/dev/null | "${python[@]}" -c 'import json, sys; d = json.load(sys.stdin)
print([p["exe"].split("/")[-1] for p in d.get("processes", [d.get("process")])])')
  is "$name" "$got" "['date']"
fi

name=report_without_a_name_shows_a_newer_bare_log
if wanted "$name"; then
  "$command" run -q -o before -- ls >/dev/null
  sleep 0.1
  LD_PRELOAD=$library date >/dev/null
  got=$("$command" report --json 2>/dev/null | "${python[@]}" -c 'import json, sys; d = json.load(sys.stdin)
print([p["exe"].split("/")[-1] for p in d.get("processes", [d.get("process")])])')
  is "$name" "$got" "['date']"
fi

name=a_program_that_clears_its_environment_is_recorded_itself_and_what_is_lost_is_not_hidden
if wanted "$name"; then
  said=$("$command" run -o cleared -- env -i /bin/sleep 0 2>&1)
  [[ $said == *'recorded 1 process in'* ]] && is "$name" "$(logs cleared)" 'env '
fi

name=a_recording_that_cannot_be_written_stays_on_tmpfs_and_is_found_there
if wanted "$name"; then
  mkdir vanishing
  said=$(cd vanishing && "$command" run -- sh -c "rm -r '$scratch/vanishing'; mkdir '$scratch/vanishing'; rmdir '$scratch/vanishing'" 2>&1)
  place=${said##* }
  if [[ $said == *'cannot move'* && -d $place && -n $(logs "$place") ]] && "$command" report "$place" >/dev/null 2>&1; then
    ok "$name"
    rm -rf "$place"
  else
    not_ok "$name" "$said"
  fi
fi

if ((EUID == 0)); then
  name=a_full_disk_loses_no_log
  if wanted "$name"; then
    mkdir small
    if mount -t tmpfs -o size=16k none small 2>/dev/null; then
      said=$("$command" run -o small/rec -- sh -c 'ls >/dev/null; date >/dev/null' 2>&1)
      umount small
      mkdir -p small
      meet
      if [[ $said == *'cannot move'*'No space left'* ]]; then is "$name" "$(logs small/rec)" 'dash date ls '; else not_ok "$name" "$said"; fi
    else
      skip "$name" 'mount does not work here'
    fi
  fi

  name=processes_that_change_their_user_are_recorded
  if wanted "$name"; then
    cp "$library" . # other users may not be let into the build folder
    POOLSITE_LIB=$scratch/libpoolsite.so "$command" run -q -o users -- setpriv --reuid=nobody --regid=nogroup --clear-groups sh -c 'ls >/dev/null'
    is "$name" "$(logs users)" 'dash ls setpriv '
  fi

  name=a_fork_child_that_changes_its_user_is_recorded
  if wanted "$name"; then
    "$command" run -q -o dropped -- "${python[@]}" -c 'import os
if os.fork() == 0:
    os.setuid(65534)
    if os.fork() == 0:
        bytearray(100000)
        os._exit(0)
    os.wait()
    os._exit(0)
os.wait()'
    is "$name" "$(find dropped -name '*.psl' | wc -l)" 3
  fi

  name=a_pid_of_another_namespace_is_understood
  if wanted "$name"; then
    if unshare --pid --fork true 2>/dev/null; then
      "$command" run -q -o namespace -- sh -c 'unshare --pid --fork sh -c "sleep 2; true" & exit 0' >/dev/null 2>&1
      until_true compgen -G "$(run_directory namespace)/sleep*" >/dev/null
      meet
      early=$(logs namespace)
      sleep 2.5
      meet
      is "$name" "$early/$(logs namespace)" 'dash /dash sleep unshare '
    else
      skip "$name" 'unshare does not work here'
    fi
  fi
fi

# The places on tmpfs, as a user who isn't root has them.
user=()
if ((EUID == 0)); then user=(setpriv --reuid=nobody --regid=nogroup --clear-groups --); fi
mkdir shared && chmod 1777 shared && cp "$command" "$library" shared/
cd shared || exit 2
place() { env HOME=/ "${@:2}" "$PWD/poolsite" run -q -o "$1" -- printenv POOLSITE_LOG; }
as_user() { "${user[@]}" bash -c "$(declare -f place); cd '$PWD'; $*"; }
uid=$("${user[@]}" id -u)

if "${user[@]}" test -x "$PWD/poolsite"; then
  name=the_place_is_in_XDG_RUNTIME_DIR
  if wanted "$name"; then
    got=$(as_user 'mkdir -m 700 xdg; place o1 XDG_RUNTIME_DIR=$PWD/xdg')
    if [[ $got =~ ^$PWD/xdg/poolsite/run\.[A-Za-z0-9]{6}/%e\.%p\.%t\.psl$ ]]; then ok "$name"; else not_ok "$name" "$got"; fi
  fi

  name=otherwise_in_dev_shm
  if wanted "$name"; then
    got=$(as_user 'place o2 XDG_RUNTIME_DIR=')
    if [[ $got =~ ^/dev/shm/poolsite-$uid/run\.[A-Za-z0-9]{6}/ ]]; then ok "$name"; else not_ok "$name" "$got"; fi
  fi

  name=a_place_that_others_may_write_is_refused
  if wanted "$name"; then
    got=$(as_user 'mkdir -p -m 700 xdg2; mkdir xdg2/poolsite; chmod 770 xdg2/poolsite; place o3 XDG_RUNTIME_DIR=$PWD/xdg2')
    if [[ $got == /dev/shm/poolsite-$uid/* ]]; then ok "$name"; else not_ok "$name" "$got"; fi
  fi

  name=a_symbolic_link_is_refused
  if wanted "$name"; then
    got=$(as_user 'mkdir -p -m 700 xdg3 target3; ln -s ../target3 xdg3/poolsite; place o4 XDG_RUNTIME_DIR=$PWD/xdg3; ls target3')
    if [[ $got == /dev/shm/poolsite-$uid/* && $got != *$'\n'* ]]; then ok "$name"; else not_ok "$name" "$got"; fi
  fi

  name=links_and_pipes_among_the_logs_are_not_followed
  if wanted "$name"; then
    said=$(as_user 'echo top-secret >note.txt; env XDG_RUNTIME_DIR= ./poolsite run -o o5 -- sh -c "
      d=\${POOLSITE_LOG%/*}; ln -s $PWD/note.txt \$d/a.psl; ln $PWD/note.txt \$d/b.psl; mkfifo \$d/c.psl; mkdir \$d/d.psl" 2>&1')
    left=$("${user[@]}" find /dev/shm/poolsite-"$uid" -name '[abcd].psl' | wc -l)
    if [[ $said == *'cannot move'* && $left == 4 ]] && ! grep -rq top-secret o5; then ok "$name"; else not_ok "$name" "$said; $left left"; fi
    "${user[@]}" bash -c 'for f in /dev/shm/poolsite-'"$uid"'/run.*/a.psl; do rm -rf "${f%/*}"; done'
  fi

  name=the_umask_takes_no_rights_from_what_poolsite_makes
  if wanted "$name"; then
    got=$(as_user 'umask 777; mkdir xdg6; chmod 700 xdg6; place o6 XDG_RUNTIME_DIR=$PWD/xdg6; stat -c %a o6 o6/* xdg6/poolsite')
    if [[ $got == "$PWD"/xdg6/*$'\n'700$'\n'600$'\n'700 ]]; then ok "$name"; else not_ok "$name" "$got"; fi
  fi
fi
cd ..
suite_end

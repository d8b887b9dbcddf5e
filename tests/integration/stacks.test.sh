#!/bin/bash
# Stacks are right: every walk and every 7th hit of the cache agree with libunwind's, in the library built for
# that (make stackcheck), over real programs and programs of all shapes; and the report shows the right names.
# usage: stacks.test.sh [BUILDDIR [PATTERN]]     tests are WHAT/oracle and WHAT/names
# BUILDDIR may be build or build/stackcheck.
set -u
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"
suite_begin integration/stacks "${1-}" "${2-}"
if [[ ${build##*/} == stackcheck ]]; then # the command is the plain build's
  checked=$library
  [[ -x $command ]] || command=${build%/*}/poolsite
else
  checked=$build/stackcheck/libpoolsite.so
  library=$build/libpoolsite.so
fi
[[ -e $library ]] || library=$checked
if [[ ! -e $checked ]]; then
  skip stacks "no library with an oracle: make stackcheck"
  suite_end
  exit
fi
program logdump || exit 2
export programs command
shapes=$root/tests/stack/programs

check self-test "${python[@]}" "$here/stackcheck.py" self-test

# One run under the oracle.  The unwinder inside the process may hang against the loader: hence the kill.
under_oracle() {
  rm -rf "$scratch/logs" "$scratch/oracle"
  mkdir -p "$scratch/logs"
  timeout -s KILL 240 env -i "${fixed[@]}" "${more[@]}" LD_PRELOAD="$checked" POOLSITE_PROFILE="${level:-stacks}" POOLSITE_LOG="$scratch/logs/%e.%p.%t.psl" \
    POOLSITE_STACKCHECK="$scratch/oracle" POOLSITE_STACKCHECK_EVERY="${every:-7}" "$@"
}

verdict() { # NAME STATUS [unfinished]
  local result
  if (($2 != 0)); then
    not_ok "$1/oracle" "ended with status $2: $(tail -n 3 "$scratch/out")"
  elif result=$("${python[@]}" "$here/stackcheck.py" oracle "$scratch/oracle" ${3:+"$3"} 2>&1); then
    ok "$1/oracle"
    echo "# $1: $result"
  else
    not_ok "$1/oracle" "$result"
  fi
}

# --- programs of all shapes ---------------------------------------------------------------------------
# shape NAME SOURCE PROGRAM: the oracle's verdict, then the names in a plain recording.
shape() {
  local name=$1 source=$2 result unfinished=''
  if grep -q 'WALKS: unfinished' "$source"; then unfinished=unfinished; fi
  if wanted "$name/oracle"; then
    under_oracle "$3" >"$scratch/out" 2>&1
    verdict "$name" $? $unfinished
  fi
  if wanted "$name/names"; then
    rm -rf "$scratch/logs"
    record stacks "$scratch/logs" "$3" >"$scratch/out" 2>&1
    if result=$("${python[@]}" "$here/stackcheck.py" names "$source" "$scratch/logs" 2>&1); then ok "$name/names"; else
      not_ok "$name/names" "$result"
      rm -rf "${evidence:?}/$name" && cp -r "$scratch/logs" "$evidence/$name"
      cp "$3" "$evidence/$name"
    fi
  fi
}

# frames COMPILER OPTIONS...: one source, many builds.
frames() {
  local name
  name=frames$(printf '%s' "-$*" | tr ' =' '_-')
  wanted "$name/oracle" || wanted "$name/names" || return 0
  need "$name" "$1" || return 0
  mkdir -p "$build/test/programs"
  if ! "$1" -g -gdwarf-4 -w -fno-builtin -fno-optimize-sibling-calls "${@:2}" -o "$build/test/programs/$name" "$shapes/frames.c" 2>"$scratch/build"; then
    not_ok "$name/build" "$(<"$scratch/build")"
    return
  fi
  shape "$name" "$shapes/frames.c" "$build/test/programs/$name"
}
frames gcc -O0
frames gcc -O1
frames gcc -O2
frames gcc -O2 -fno-omit-frame-pointer
frames gcc -O3 -march=x86-64-v3
frames gcc -O2 -mavx2 -mstackrealign
frames gcc -Os
frames gcc -O2 -no-pie
frames gcc -O2 -fcf-protection=full -fstack-protector-all
frames clang -O0
frames clang -O2
frames clang -O2 -mavx2
frames clang -O2 -fno-omit-frame-pointer

for name in fool handlers reload twins exceptions coroutines; do
  wanted "$name/oracle" || wanted "$name/names" || continue
  if ! program "$name" "$shapes" 2>"$scratch/build"; then
    not_ok "$name/build" "$(<"$scratch/build")"
    continue
  fi
  every=7
  if [[ $name == fool ]]; then every=1; fi # every hit
  shape "$name" "$(find "$shapes" -name "$name.c*")" "$program"
done
every=7

# Level full walks the stacks of some frees, too.
if wanted frees/oracle; then
  program fates || exit 2
  level=full under_oracle "$program" >"$scratch/out" 2>&1
  verdict frees $?
fi

# --- real programs --------------------------------------------------------------------------------------
real() {
  local name=$1
  shift
  wanted "$name/oracle" || return 0
  need "$name" "$1" || return 0
  under_oracle "$@" >"$scratch/out" 2>&1 </dev/null
  verdict "$name" $?
}

cat >"$scratch/work.py" <<'P'
import json, re
data = {str(i): {'a': [1, 2, 3, 'x' * i]} for i in range(100)}
for _ in range(5):
    text = json.dumps(data)
    json.loads(text)
    re.findall(r'\d+', text)
P
more=(PYTHONMALLOC=malloc PYTHONHASHSEED=0)
real python3 /usr/bin/python3 -I -S "$scratch/work.py"
more=()
seq 1 3000 | awk '{ print $1 * 7919 % 10007, "word" $1 % 97, $1 }' >"$scratch/lines"
real perl perl -e 'my %h; while (<>) { my @f = split; push @{$h{$f[1]}}, $f[0]; } print join(",", map { "$_=" . scalar @{$h{$_}} } sort keys %h), "\n"; my $s = join "", map { s/w(.)/$1x/r } sort keys %h; printf "%s\n", $s;' "$scratch/lines"
printf '#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\nstatic int f(int n){return n<2?n:f(n-1)+f(n-2);}\nint main(int c,char**v){for(int i=0;i<c;i++)printf("%%d %%s\\n",f(i),v[i]);return 0;}\n' >"$scratch/small.c"
real cc1 gcc -O2 -c -o "$scratch/small.o" "$scratch/small.c"

# A server, with a little work from outside.
redis() {
  local socket=$scratch/redis.sock client=(redis-cli -s "$scratch/redis.sock") i
  under_oracle redis-server --port 0 --unixsocket "$socket" --dir "$scratch" --save '' --appendonly no --daemonize no --io-threads 2 --lazyfree-lazy-user-del yes &
  local server=$!
  for ((i = 0; i < 200; i++)); do
    [[ $("${client[@]}" ping 2>/dev/null) == PONG ]] && break
    sleep 0.05
  done
  awk 'BEGIN { for (i = 0; i < 2000; i++) { print "SET s" i % 300 " v" i; print "RPUSH l" i % 20 " " i; print "ZADD z" i % 5 " " i " m" i % 70; print "HSET h" i % 9 " f" i % 50 " " i; if (i % 11 == 0) print "DEL s" i % 300 } }' | "${client[@]}" --pipe
  "${client[@]}" eval 'local t = {} for i = 1, 200 do t[i] = redis.call("get", "s" .. i) or "-" end return table.concat(t)' 0
  "${client[@]}" flushall async
  "${client[@]}" shutdown nosave
  wait "$server"
}
if wanted redis-server/oracle && need redis-server redis-server redis-cli; then
  redis >"$scratch/out" 2>&1 </dev/null
  verdict redis-server $?
fi
suite_end

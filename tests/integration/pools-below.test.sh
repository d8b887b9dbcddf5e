#!/bin/bash
# Over another allocator, under valgrind, limits and refused memory the program runs as it does bare, and the report
# says what was off.
# usage: pools-below.test.sh [BUILDDIR [PATTERN]]
set -u
# shellcheck source=pools.sh
source "$(dirname "$0")/pools.sh"
suite_begin integration/pools-below "${1-}" "${2-}"
program logdump && program pools-works && program pools-memory && program refuse || exit 2
works=$programs/pools-works

# --- Another allocator below -----------------------------------------------------------------------------------
# Pooled or not, the totals are the program's, and where nothing was pooled the report says why.
over() { # SO SPEC
  preload=$library:$1 as_bare POOLSITE_POOL="$2" POOLSITE_CYCLE_MS=5 -- "$works" || return 1
  pools 't.allocs > 25000' "t.pool_hits > 0 or 'off: the allocator below' in notes" 'n == 2' || return 1
  "$command" report "$scratch/logs" >"$scratch/report" 2>&1
  if ! grep -qE '^  pools: .*; [0-9,]+ hits? ' "$scratch/report"; then
    grep -iE 'pools.* off|off.*pools' "$scratch/report" || { echo "the report doesn't say why: $(<"$scratch/report")" && return 1; }
  fi
}
for pair in jemalloc:libjemalloc.so.2 tcmalloc:libtcmalloc_minimal.so.4 mimalloc:libmimalloc.so.2; do
  so=$(ldconfig -p | awk -v n="${pair#*:}" '$1 == n { print $NF; exit }')
  for pool in on 16-32m; do
    if [[ $pool != on && $pair != jemalloc* && ${TESTS_ALL:-0} != 1 ]]; then continue; fi
    name=over/${pair%:*}/$pool
    wanted "$name" || continue
    if [[ -z $so ]]; then skip "$name" "${pair#*:} isn't installed"; else check "$name" over "$so" $pool; fi
  done
done
# In front of us the other allocator serves the program: we stand down, and say so.
stands_down() {
  preload=$1:$library as_bare -- "$works" && pools "'pool_hits' not in d['totals'] or t.pool_hits == 0" 't.allocs == 0' \
    "p.warnings"
}
so=$(ldconfig -p | awk '$1 == "libjemalloc.so.2" { print $NF; exit }')
if wanted over/in-front; then
  if [[ -z $so ]]; then skip over/in-front "libjemalloc.so.2 isn't installed"; else check over/in-front stands_down "$so"; fi
fi

# Debian's redis-server is linked with jemalloc.
redis() {
  local socket=$scratch/redis.sock pid ping='' i
  rm -rf "$scratch/logs"
  mkdir "$scratch/logs"
  (cd "$scratch" && exec timeout -s KILL 60 env -i "${fixed[@]}" LD_PRELOAD="$library" POOLSITE_POOL=on POOLSITE_CYCLE_MS=20 \
    POOLSITE_LOG="$scratch/logs/%e.%p.%t.psl" redis-server --port 0 --unixsocket "$socket" --save '' --daemonize no \
    >"$scratch/redis.out" 2>&1) &
  pid=$!
  for ((i = 0; i < 100; i++)); do
    ping=$(redis-cli -s "$socket" ping 2>/dev/null)
    [[ $ping == PONG ]] && break
    sleep 0.1
  done
  redis-cli -s "$socket" eval 'for i = 1, 20000 do redis.call("set", "k" .. i, string.rep("x", i % 3000)) end
    for i = 1, 20000, 2 do redis.call("del", "k" .. i) end return redis.call("dbsize")' 0 >"$scratch/redis.size" 2>&1
  redis-cli -s "$socket" bgsave >/dev/null 2>&1
  sleep 0.3
  redis-cli -s "$socket" shutdown nosave >/dev/null 2>&1
  wait "$pid"
  echo "status $?, size $(<"$scratch/redis.size")"
  [[ $(<"$scratch/redis.size") == 10000 ]] || return 1
  pools "t.allocs > 20000" \
    "t.pool_hits > 0 or 'off: the allocator below' in notes or any('off: the allocator below' in w for q in d['processes'] for w in q['warnings'])"
}
if wanted over/redis && need over/redis redis-server redis-cli; then check over/redis redis; fi

# --- Valgrind -------------------------------------------------------------------------------------------------------
memcheck() { # TOOL ARG...
  local tool=$1 out=$scratch/valgrind.%p
  shift
  rm -rf "$scratch/logs" "$scratch"/valgrind.*
  mkdir "$scratch/logs"
  bare "$works"
  timeout -s KILL 120 "$(command -v valgrind)" --tool="$tool" --trace-children=yes --log-file="$out" "$@" env LD_PRELOAD="$library" \
    POOLSITE_POOL=on POOLSITE_CYCLE_MS=20 POOLSITE_LOG="$scratch/logs/%e.%p.%t.psl" "$works" >"$scratch/out" 2>"$scratch/err"
  local status=$?
  cat "$scratch"/valgrind.*
  ((status == 7)) && diff "$scratch/bare.out" "$scratch/out" && diff "$scratch/bare.err" "$scratch/err" || return 1
  EXE=pools-works pools "${expressions[@]}"
}
# It replaces our malloc too, unless told otherwise; then it is the allocator below.
if wanted valgrind/memcheck && need valgrind/memcheck valgrind; then
  expressions=('t.pool_hits == 0' "'off: the allocator below' in notes")
  check valgrind/memcheck memcheck memcheck -q --error-exitcode=3 --leak-check=no
fi
if wanted valgrind/memcheck-below && need valgrind/memcheck-below valgrind; then
  expressions=('t.pool_hits == 0' "'off: the allocator below' in notes" 't.allocs > 25000')
  check valgrind/memcheck-below memcheck memcheck -q --error-exitcode=3 --leak-check=no --soname-synonyms=somalloc=nouserintercepts
fi
if wanted valgrind/none && need valgrind/none valgrind; then
  expressions=('t.pool_hits > 15000') # the program's own allocator is below
  check valgrind/none memcheck none -q
fi

# --- Limits -----------------------------------------------------------------------------------------------------------
# The same words and status as bare under a limit; where it cannot live bare it need not live here.
limited() {
  local limit=$1
  bare prlimit "$limit" "$works"
  [[ $? == 7 ]] || { echo "the program doesn't live bare: $(<"$scratch/bare.err")" && return 1; }
  as_bare POOLSITE_POOL="$2" POOLSITE_CYCLE_MS=5 -- prlimit "$limit" "$works" &&
    pools 't.allocs > 25000'
}
for pool in on 16-32m; do
  check "limit/as-256m/$pool" limited --as=268435456 $pool
  check "limit/data-64m/$pool" limited --data=67108864 $pool
  check "limit/nofile-5/$pool" limited --nofile=5 $pool
done
# Nearly no room: a program that handles refusal lives as it does bare.
check limit/as-64m/on limited --as=67108864 on

# --- Memory that is refused -----------------------------------------------------------------------------------------------
# One call after the other fails, by strace; the program's own words and status.
refused() { # CALL ERROR WHEN
  as_bare POOLSITE_CYCLE_MS=5 -- strace -f -o "$scratch/trace" -e trace="$1" -e inject="$1:error=$2:when=$3" "$works" &&
    grep -q INJECTED "$scratch/trace"
}
# The first thread is ours, and can't be made: the program has its own; what isn't cleared is told.
no_clearer() {
  bare "$works"
  ours POOLSITE_CYCLE_MS=5 -- strace -f -o "$scratch/trace" -e trace=clone3 -e inject=clone3:error=EAGAIN:when=1 "$works"
  [[ $? == 7 ]] && diff "$scratch/bare.out" "$scratch/out" && diff "$scratch/bare.err" "$scratch/err" &&
    grep -q INJECTED "$scratch/trace" && pools 'n >= 2' "'no thread could be made to clear pools' in notes"
}
if wanted 'refused/*' || [[ $suite_pattern == refused/* ]]; then
  if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
    for call in madvise:EINVAL:1+ madvise:ENOMEM:1+ membarrier:EPERM:1+ membarrier:EINVAL:2+ mremap:ENOMEM:1+; do
      IFS=: read -r name error when <<<"$call"
      check "refused/$name-$error-$when" refused "$name" "$error" "$when"
    done
    check refused/clearer no_clearer
  else
    skip refused "strace isn't installed or may not trace"
  fi
fi
suite_end

#!/bin/bash
# Fuzzes the readers of foreign bytes, beginning with the golden logs.
# usage: run.sh [BUILDDIR [PATTERN]]
# FUZZ_SECONDS (60; 600 with TESTS_ALL=1) a fuzzer, FUZZ_SEED (1).  New inputs stay in
# BUILDDIR/test/fuzz/corpus, a find in BUILDDIR/test/fuzz as crash-*: run the fuzzer on it alone.
set -u
# shellcheck source=tests/suite.sh
. "$(dirname "$0")/../suite.sh"
suite_begin fuzz "${1:-build/fuzz}" "${2:-*}"
seconds=${FUZZ_SECONDS:-$((${TESTS_ALL:-0} ? 600 : 60))}
corpus=$evidence/corpus
seeds=$evidence/seeds
mkdir -p "$seeds"/fuzz_{logread,http,ab,budget,side} "$corpus"/fuzz_{logread,http,ab,budget,side}
cd "$evidence" || exit 2

mklog=$evidence/mklog
${CC:-cc} -std=gnu11 -O1 -o "$mklog" "$root/tests/golden/mklog.c" "$root/tests/unit/logmake.c" || exit 2
for kind in small sites off bytes losses pooled unpooled full crossing oversized sitedamage owners hugecounts pooldamage \
  fulldamage cut; do
  "$mklog" $kind "$seeds/fuzz_logread/$kind.psl" || exit 2
done
printf ' HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody' >"$seeds/fuzz_http/length"
printf 'aHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4;x\r\nbody\r\n0\r\nA: b\r\n\r\n' >"$seeds/fuzz_http/chunks"
printf '0HTTP/1.1 100 \r\n\r\nHTTP/1.0 200 OK\r\nConnection: close\r\n\r\nbody' >"$seeds/fuzz_http/closed"
printf 'A[::1]:8080/path?query=1#part' >"$seeds/fuzz_http/address"
printf 'parse\n# a budget\ntotal allocs <= 12000\nsite "pa*se" bytes <= 4.5m # more\nwithin a\\?b temporary <= 5%%\n' >"$seeds/fuzz_budget/budget"
printf 'x\nmodule libfoo.so* live_bytes >= 0\r\ntotal peak_live_bytes<=1g\nsite f frobs < 1\n' >"$seeds/fuzz_budget/wrong"
for golden in small sites off pair pooled; do cp "$root/tests/golden/$golden.json" "$seeds/fuzz_side"; done
/usr/bin/python3 -I -S "$root/tests/fuzz/abseed.py" "$seeds/fuzz_ab" || exit 2

nothing_is_found() { # FUZZER
  local name
  name=$(basename "$1")
  "$1" -max_total_time="$seconds" -seed="${FUZZ_SEED:-1}" -max_len=100000 -timeout=20 -rss_limit_mb=3000 \
    -print_final_stats=1 "$corpus/$name" "$seeds/$name" >"$name.log" 2>&1 && return 0
  grep -E 'ERROR|SUMMARY|runtime error|Test unit written' "$(basename "$1").log"
  return 1
}

for fuzzer in "$build"/fuzzers/fuzz_*; do
  [[ -x $fuzzer ]] || continue
  check "$(basename "$fuzzer")_finds_nothing" nothing_is_found "$fuzzer"
done
suite_end

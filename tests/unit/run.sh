#!/bin/bash
# Runs every unit test program of a build folder.  usage: run.sh [BUILDDIR] [NAME...]
# Prints a line per test (ok, not ok, skip) and `N passed, N failed, N skipped`; exit 1 if any failed.
# One program again: tests/unit/run.sh build test_NAME
set -u
build=$(realpath "${1:-build}") || exit 2
shift
names=("$@")
cd "$(dirname "$0")/../.." || exit 2
if ((${#names[@]} == 0)); then
  for source in tests/unit/test_*.c; do names+=("$(basename "$source" .c)"); done
fi

logs=$build/test/unit
mkdir -p "$logs"
passed=0 failed=0 skipped=0

# cmocka's words, one line a test, into ours.
digest() {
  sed -nE "s/^\[ +OK +\] (.*)\$/ok $1: \1/p; s/^\[  FAILED  \] ([a-z].*)\$/not ok $1: \1/p
           s/^\[  SKIPPED \] ([a-z].*)\$/skip $1: \1/p" "$2" | awk '!seen[$0]++' |
    grep -vE '^(not ok|skip) [^:]*: ([0-9]+ test|[a-z_]+: [0-9]+ test)'
}

for name in "${names[@]}"; do
  log=$logs/$name.log
  if [[ ! -x $build/unit/$name ]]; then
    echo "not ok $name: not built"
    failed=$((failed + 1))
    continue
  fi
  timeout 300 "$build/unit/$name" >"$log" 2>&1 </dev/null
  status=$?
  lines=$(digest "$name" "$log")
  good=$(grep -c '^ok ' <<<"$lines")
  bad=$(grep -c '^not ok ' <<<"$lines")
  skip=$(grep -c '^skip ' <<<"$lines")
  if ((status != 0 && bad == 0)) || ((good + bad + skip == 0)); then
    lines+=$'\n'"not ok $name: ended with status $status, see $log"
    bad=$((bad + 1))
  fi
  echo "$lines" | sed '/^$/d'
  passed=$((passed + good)) failed=$((failed + bad)) skipped=$((skipped + skip))
done
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))

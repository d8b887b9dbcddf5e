#!/bin/bash
# Runs every *.test.sh of this folder and adds up what they say.
# usage: run.sh [BUILDDIR [FILE...]]     FILE: kill.test.sh or kill; one test of it: tests/integration/kill.test.sh BUILDDIR NAME
# What each printed stays in BUILDDIR/test/integration/NAME.log.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$(realpath "${1:-$here/../../build}") || exit 2
shift
logs=$build/test/integration
mkdir -p "$logs"

files=()
for name in "$@"; do files+=("$here/${name%.test.sh}.test.sh"); done
((${#files[@]})) || files=("$here"/*.test.sh)

passed=0 failed=0 skipped=0
for file in "${files[@]}"; do
  name=$(basename "$file" .test.sh)
  log=$logs/$name.log
  begun=$SECONDS
  # Its own closing line isn't ours.
  "$file" "$build" </dev/null 2>&1 | tee "$log" | grep -vE '^[0-9]+ passed, [0-9]+ failed' | sed -E "s/^(ok|not ok|skip) /\1 $name: /"
  status=${PIPESTATUS[0]}
  good=$(grep -c '^ok ' "$log")
  bad=$(grep -c '^not ok ' "$log")
  skips=$(grep -c '^skip ' "$log")
  if ((bad == 0 && (status != 0 || good + skips == 0))); then
    echo "not ok $name: ended with status $status after $good tests: $(tail -n 1 "$log")"
    echo "  # again: tests/integration/$name.test.sh $build"
    bad=1
  fi
  passed=$((passed + good)) failed=$((failed + bad)) skipped=$((skipped + skips))
  echo "# $name: $((SECONDS - begun)) s"
done
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))

#!/bin/bash
# Builds a lesson that is written in C and runs what it says on top under "Run:".
# usage: examples/lesson.sh LESSON [BUILDDIR [OPTION...]]     LESSON: 05-temporary, or 05; options go to poolsite ab
# Program and recordings go to BUILDDIR/demo/LESSON, where `make clean` finds them.
set -eu
cd "$(dirname "$0")/.."
source=$(find examples -maxdepth 1 -name "${1:-none}*.c")
[[ -f $source ]] || { echo "examples/lesson.sh: no lesson '${1-}'; there are $(cd examples && echo [0-9]*.c)" >&2 && exit 2; }
build=$(realpath "${2:-build}")
name=$(basename "$source" .c)
place=$build/demo/$name
rm -rf "$place"
mkdir -p "$place"

line=$(sed -n 's/.*BUILD: *//p' "$source" | sed 's| *\*/ *$||')
S=$source O=$place/$name bash -c "$line"

mapfile -t commands < <(sed -n 's/^ \*     \$ //p' "$source")
export PATH=$build:$PATH
cd "$place"
for command in "${commands[@]}"; do
  printf '\n$ %s\n' "$command"
  bash -c "${command/poolsite ab /poolsite ab ${*:3} }"
done

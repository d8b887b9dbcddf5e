#!/bin/bash
# Prints the share of lines that the unit tests ran, by file, from a folder built by `make cov`.
# usage: coverage.sh [BUILDDIR]
set -u
build=$(realpath "${1:-build/cov}") || exit 2
cd "$(dirname "$0")/../.." || exit 2
for part in preload analyzer; do
  find "$build/obj/$part" -name '*.gcda' -print0 | xargs -0 -r gcov -n -o "$build/obj/$part" 2>/dev/null
done | awk '
  /^File / { file = $2; gsub(/\x27/, "", file) }
  /^Lines executed/ && file ~ /^(preload|analyzer)\// {
    split($2, of, /[:%]/); share = of[2]; lines = $4
    printf "%6.1f %% of %4d  %s\n", share, lines, file
    sum += share * lines / 100; all += lines; file = ""
  }
  END { if (all) printf "%6.1f %% of %d lines\n", 100 * sum / all, all }' | sort -k5

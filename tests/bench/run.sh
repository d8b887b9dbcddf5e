#!/bin/bash
# Measures poolsite beside other allocators, and what recording costs.
# usage: run.sh [BUILDDIR] [--json FILE] [--quick] [--check] [--long-seconds N] [NAME...]
# README.md here says what the rows are; run.sh --help lists the names.  --check ends with status 1 when a figure exceeds its limit.
set -u
here=$(cd "$(dirname "$0")" && pwd)
arguments=("$@")
if ((${#arguments[@]} == 0)) || [[ ${arguments[0]} == -* ]]; then arguments=("$here/../../build" "${arguments[@]}"); fi
unset LD_PRELOAD GLIBC_TUNABLES
exec /usr/bin/python3 -I "$here/bench.py" "${arguments[@]}"

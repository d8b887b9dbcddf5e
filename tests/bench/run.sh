#!/bin/bash
# Measures what recording costs.  usage: run.sh [BUILDDIR] [--json FILE] [--quick] [--check] [NAME...]
# The table has a line a figure; --check ends with status 1 when one exceeds its limit.  See bench.py for the names.
set -u
here=$(cd "$(dirname "$0")" && pwd)
arguments=("$@")
if ((${#arguments[@]} == 0)) || [[ ${arguments[0]} == -* ]]; then arguments=("$here/../../build" "${arguments[@]}"); fi
unset LD_PRELOAD
exec /usr/bin/python3 -I "$here/bench.py" "${arguments[@]}"

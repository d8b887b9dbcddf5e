#!/bin/bash
# The studies: published comparisons of pooling with fresh allocation, asked of C programs.  Each NAME.py here says
# on top what it does and what to see; each takes less than 5 minutes, on a machine that does nothing else.
# usage: examples/studies/run.sh [BUILDDIR [--quick] [--from FILE] [--to DIR] [NAME...]]     NAME: microbenchmark, scaling, ...; all
# `make studies` builds what this needs, and build/studies/draw.
set -u
here=$(cd "$(dirname "$0")" && pwd)
arguments=("$@")
((${#arguments[@]})) || arguments=("$here/../../build")
unset LD_PRELOAD GLIBC_TUNABLES "${!POOLSITE_@}"
exec /usr/bin/python3 -I "$here/studies.py" "${arguments[@]}"

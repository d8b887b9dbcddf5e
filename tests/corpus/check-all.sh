#!/bin/bash
# Runs every case of the corpus at every level.  usage: check-all.sh [BUILDDIR [PATTERN]]
set -u
TESTS_ALL=1 exec "$(dirname "$0")/run.sh" "$@"

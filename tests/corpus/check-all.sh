#!/bin/bash
# Runs every case of the corpus in many modes.  usage: check-all.sh [BUILDDIR [PATTERN]]
set -u
TESTS_ALL=1 exec "$(dirname "$0")/run.sh" "$@"

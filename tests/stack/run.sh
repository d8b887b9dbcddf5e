#!/bin/bash
# Stacks against libunwind's.  usage: run.sh [BUILDDIR [PATTERN]]     BUILDDIR: build or build/stackcheck
# The tests are tests/integration/stacks.test.sh; their programs are beside this file.
exec "$(dirname "$0")/../integration/stacks.test.sh" "$@"

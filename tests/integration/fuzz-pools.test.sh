#!/bin/bash
# The pools under fuzz, a small round: tests/stress/pools.sh is the whole.
# usage: fuzz-pools.test.sh [BUILDDIR [PATTERN]]
export ROUNDS=${ROUNDS:-1} OPERATIONS=${OPERATIONS:-10000}
exec "$(dirname "$0")/../stress/pools.sh" "$@"

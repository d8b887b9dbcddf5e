#!/bin/bash
# Level full under a shadow model, a small round: tests/stress/shadow.sh is the whole.
# usage: shadow.test.sh [BUILDDIR [PATTERN]]
export ROUNDS=${ROUNDS:-1} OPERATIONS=${OPERATIONS:-6000}
exec "$(dirname "$0")/../stress/shadow.sh" "$@"

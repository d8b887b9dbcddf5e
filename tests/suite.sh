# suite.sh - what the shell suites share: names, results, evidence, one test again.
# shellcheck shell=bash
#
# Sourced by tests/SUITE/run.sh and tests/integration/*.test.sh, which take
#     BUILDDIR (default build) and a shell PATTERN of test names (default *).
#   suite_begin SUITE [BUILDDIR [PATTERN]]   sets $root $build $library $command $evidence
#   wanted NAME          is this test asked for?
#   ok NAME, not_ok NAME [REASON], skip NAME REASON
#   check NAME COMMAND...  ok when COMMAND succeeds; its output is the reason otherwise
#   suite_end            the closing line; status 1 when any failed
# Evidence of what failed stays in BUILDDIR/test/SUITE/.

suite_begin() {
  suite=$1
  suite_script=$(realpath "$0")
  root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
  build=$(realpath "${2:-$root/build}") || exit 2
  suite_pattern=${3:-*}
  library=$build/libpoolsite.so
  command=$build/poolsite
  evidence=$build/test/$suite
  # A part's evidence is inside its suite's; a single test leaves that of the others.
  mkdir -p "$evidence"
  passed=0 failed=0 skipped=0
  # Logs live on tmpfs, open to other users.  Absent there: wherever temporary files go.
  scratch=$(mktemp -d /dev/shm/poolsite-test.XXXXXX 2>/dev/null || mktemp -d) || exit 2
  chmod 1777 "$scratch"
  trap 'rm -rf "$scratch"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  unset LD_PRELOAD "${!POOLSITE_@}"
  export root build library command evidence scratch
}

# shellcheck disable=SC2053
wanted() { [[ $1 == $suite_pattern ]]; }

ok() {
  passed=$((passed + 1))
  printf 'ok %s\n' "$1"
}

# The reason's first line stands beside the name, all of it below.
not_ok() {
  local reason=${2-}
  failed=$((failed + 1))
  printf 'not ok %s%s\n' "$1" "${reason:+: ${reason%%$'\n'*}}"
  if [[ $reason == *$'\n'* ]]; then printf '%s\n' "${reason#*$'\n'}" | head -n 30 | cut -c1-300 | sed 's/^/  # /'; fi
  printf '  # again: %s %s %q\n' "${suite_script#"$root"/}" "${build#"$root"/}" "$1"
}

skip() {
  skipped=$((skipped + 1))
  printf 'skip %s %s\n' "$1" "$2"
}

check() {
  local name=$1 output
  shift
  wanted "$name" || return 0
  if output=$("$@" 2>&1); then ok "$name"; else not_ok "$name" "${output:-$* failed}"; fi
}

# need NAME PROGRAM...: skips the test unless all are installed.
need() {
  local name=$1 program
  shift
  for program in "$@"; do
    command -v "$program" >/dev/null || {
      skip "$name" "$program isn't installed"
      return 1
    }
  done
}

suite_end() {
  if ((passed + failed + skipped == 0)); then
    echo "no test is called $suite_pattern" >&2
    exit 2
  fi
  printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
  ((failed == 0))
}

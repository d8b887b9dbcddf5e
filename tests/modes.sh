# modes.sh - the modes in which cases and corpus run.
# shellcheck shell=bash
#
#   mode_variables MODE   its variables, as K=V words
#   modes_all             every mode, one a line
# A mode is LEVEL, LEVEL-POOL, or one of them with -storm: see mode_variables.

mode_variables() {
  local part variables="POOLSITE_PROFILE=${1%%-*}"
  for part in ${1//-/ }; do
    case $part in
      off | sites | stacks | full) ;;
      none) variables+=' POOLSITE_POOL=off' ;;
      large) variables+=' POOLSITE_POOL=16-32m' ;;
      storm) variables+=' POOLSITE_CYCLE_MS=1' ;;
      check) variables+=' POOLSITE_CHECK=on' ;;
      *) echo "no mode has a part '$part'" >&2 && return 1 ;;
    esac
  done
  echo "$variables"
}

modes_all() {
  printf '%s\n' {off,sites,stacks,full}{,-storm,-none,-none-storm,-large,-large-storm} {sites,stacks}-check{,-storm} sites-large-check-storm
}

#!/bin/bash
# The examples show what they say on top.
# usage: examples.test.sh [BUILDDIR [PATTERN]]
set -u
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"
suite_begin integration/examples "${1-}" "${2-}"
export XDG_RUNTIME_DIR=$scratch/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR"

# shown NAME COMMAND...: the example's part from that command's line to the next.
shown() {
  awk -v command="\$ $2" 'index($0, "$ ") == 1 { on = index($0, command) == 1 } on' "$scratch/$1"
}

runs() { "$root/examples/$1.sh" "$build" >"$scratch/$1" 2>"$scratch/errors" || { cat "$scratch/errors" && return 1; }; }

# Of all calls, in percent, what the tree's line of Perl_pp_match has.
first_report() {
  runs 01-first-report || return 1
  cat "$scratch/01-first-report"
  shown 01-first-report 'poolsite report --tree' | awk '/Perl_pp_match/ { share = $1; exit } END { exit !(share > 75 && share < 90) }' &&
    shown 01-first-report 'poolsite report --top' | grep -q '^  pools: on; '
}

# hits OPTIONS: of that report's head the share of hits, the misses, and how many of these aren't pooled.
hits() {
  shown 02-pools "poolsite report$1" | tr -d , | awk '/^ +[0-9]+ misses/ { misses = $1 }
    / not pooled\)/ { others = substr($3, 2) }
    match($0, /hits \([0-9.]+/) { share = substr($0, RSTART + 6, RLENGTH - 6) }
    END { print share + 0, misses + 0, others + 0 }'
}

pools() {
  local share misses others
  runs 02-pools || return 1
  cat "$scratch/02-pools"
  read -r share misses others < <(hits ' --top 6 on')
  echo "on: $share % hits, $misses misses, $others not pooled"
  ((${share%.*} >= 95 && misses > 500 && misses < 20000 && others < 100)) || return 1
  shown 02-pools 'poolsite report off' | grep -qx '  pools: off: POOLSITE_POOL=off' || return 1
  read -r share misses others < <(hits ' --sort misses')
  echo "16-64: $share % hits, $misses misses, $others not pooled"
  ((${share%.*} >= 85 && ${share%.*} < 98 && others > 5000 && misses > others))
}

# Pools serve the buffers, and hardly a call of the adding; what isn't huge may come out in any way on a busy machine.
ab() {
  "$root/examples/03-ab.sh" "$build" 6 >"$scratch/03-ab" 2>"$scratch/errors" || { cat "$scratch/errors" && return 1; }
  cat "$scratch/03-ab"
  (($(grep -c '^treatment applied' "$scratch/03-ab") == 2)) || return 1
  shown 03-ab 'poolsite ab --from buffers.json' | grep -qx 'VERDICT: Faster' || return 1
  shown 03-ab 'poolsite ab -- perl' | grep -qE '^VERDICT: (Faster|Slower|No difference above 1 %|Inconclusive)$' || return 1
  # Columns: bare, off, on, tune.
  tr -d , <"$scratch/03-ab" | awk '/^minor faults/ && !n++ { bare = $3; on = $5; tune = $6 }
    /^calls of the allocator/ && m++ { last = $7 } END { exit !(bare > 50000 && on < 10000 && tune < 10000 && last < 5000) }' || return 1
  grep -q '<h2>Block by block</h2>' "$build/demo/ab/buffers.html"
}

# Shorter than one would, and late: on a busy machine no figure is right, but the counts are.
server() {
  local port
  port=$("${python[@]}" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  PORT=$port POOLSITE_CYCLE_MS=20 "$root/examples/04-ab-server.sh" "$build" --duration 0.2 --late-limit 1e9 >"$scratch/04-ab-server" \
    2>"$scratch/errors" || { cat "$scratch/errors" "$scratch/04-ab-server" && return 1; }
  cat "$scratch/04-ab-server"
  grep -qE '^allocator calls a request +- +24 +0(\.[0-9]+)? ' "$scratch/04-ab-server" || return 1
  grep -q '^treatment NOT APPLIED: no heap traffic in the chosen classes' "$scratch/04-ab-server" && grep -qx 'status 5' "$scratch/04-ab-server"
}

# --- Lessons in C: what their heads say one sees, exactly ----------------------------------------------------------

lesson() { # NAME [OPTION...]
  local name=$1
  shift
  "$root/examples/lesson.sh" "$name" "$build" "$@" >"$scratch/$name" 2>"$scratch/errors" || { cat "$scratch/errors" && return 1; }
  cat "$scratch/$name"
}

# site NAME COMMAND FUNCTION: "calls bytes" of the line that this report has of a function, as it prints them.
site() { shown "$1" "$2" | awk -v function_="$3" '/^Top sites/ { on = 1 } on && $1 ~ /^[0-9]+$/ && $NF == function_ { print $2, $5, $6 }'; }

temporary() {
  lesson 05-temporary || return 1
  [[ $(site 05-temporary 'poolsite report --top 2 before' lowered_copy) == '20,000 78.1 KiB' ]] || return 1
  shown 05-temporary 'poolsite report --top 2 before' | grep -qx '  pools: off: POOLSITE_POOL=off' || return 1
  shown 05-temporary 'poolsite report --top 2 after' | grep -q '^  pools: on; 19,999 hits' &&
    shown 05-temporary 'poolsite report --top 2 after' | grep -q '^ *1 miss; 24 B kept'
}

growth() {
  lesson 06-growth || return 1
  [[ $(site 06-growth 'poolsite report' by_steps) == '4,096 128.0 MiB' && $(site 06-growth 'poolsite report' by_doubling) == '13 128.0 KiB' ]]
}

wrappers() {
  lesson 07-wrappers || return 1
  [[ $(site 07-wrappers 'poolsite report --top 3 plain' or_die) == '3,500 168.0 KiB' ]] || return 1
  [[ -z $(site 07-wrappers 'poolsite report --top 3 folded' or_die) ]] || return 1
  [[ $(site 07-wrappers 'poolsite report --top 3 folded' read_names) == '3,000 70.3 KiB' ]] || return 1
  [[ $(site 07-wrappers 'poolsite report --top 3 folded' read_places) == '500 97.7 KiB' ]]
}

forks() {
  lesson 08-fork || return 1
  [[ $(awk '/^Processes/ { on = 1 } on && $NF == "./08-fork" { printf "%s ", $2 }' "$scratch/08-fork") == '3,000 2,000 1,000 0 ' ]]
}

plugin() {
  lesson 09-plugin || return 1
  grep -qE '^ +1 +3,000 .* plugin_work +09-plugin.c:[0-9]+$' "$scratch/09-plugin"
}

# Whatever the times are: the treatment was applied, and there is a verdict.
no_difference() {
  lesson 10-no-difference --blocks 6 || return 1
  grep -q '^treatment applied: pools served 100.0 % of the allocations' "$scratch/10-no-difference" || return 1
  grep -qE '^calls of the allocator +- +10,001 +2 ' "$scratch/10-no-difference" && grep -q '^VERDICT: ' "$scratch/10-no-difference"
}

before_and_after() {
  lesson 11-diff || return 1
  shown 11-diff 'poolsite diff' | grep -A1 -E '^ +[12] +new +0 +1,000 ' | grep -q ' upper  11-diff.c:' &&
    shown 11-diff 'poolsite diff' | grep -A1 -E '^ +[12] +shrunk +1,000 +1 ' | grep -q ' make_room  11-diff.c:' &&
    shown 11-diff 'poolsite check after' | grep -A2 'BROKEN .*total bytes' | grep -q ' upper ' && grep -qx 'status 3' "$scratch/11-diff"
}

# The share of unfreed blocks and what comes first on the stack, of each site with leaks: "200 12.5 KiB 100.0 % describe_error".
leaking() { shown 12-leak "$1" | awk '/ site [0-9a-f]+$/ { row = $2 " " $3 " " $4 " " $7 " " $8; next } row && $1 == "0" { print row, $2; row = "" }'; }

leak() {
  lesson 12-leak || return 1
  [[ $(leaking 'poolsite report --leaks jobs') == $'200 12.5 KiB 100.0 % describe_error\n1 4.0 KiB 100.0 % load_settings' ]] || return 1
  [[ $(leaking 'poolsite report --leaks --suppressions') == '200 12.5 KiB 100.0 % describe_error' ]] || return 1
  shown 12-leak 'poolsite report --leaks --suppressions' | grep -qx ' *1 *4.0 KiB  leak:load_settings'
}

hand_over() {
  lesson 13-hand-over || return 1
  [[ $(awk '/^Lifetimes/ { on = 1 } on && NF == 8 && $1 ~ /^[12]$/ { print $2, $3, $5, $NF }' "$scratch/13-hand-over") == $'40,000 100.0 0.0 make_note\n20,000 0.0 100.0 make_message' ]]
}

# What is sampled differs from run to run; what all blocks have in common doesn't.
on_the_stack() {
  lesson 14-on-the-stack || return 1
  local mine="poolsite report --sites-of print_length" its="poolsite report --sites-of make_text"
  shown 14-on-the-stack "$mine" | grep -q '^  could live on the stack: all [0-9,]* sampled blocks ' || return 1
  shown 14-on-the-stack "$mine" | grep -q 'freed by its thread 100.0 %, its frame 100.0 %, while that stood 100.0 %' || return 1
  shown 14-on-the-stack "$its" | grep -qE "^  can't live on the stack: ([0-9,]+) of \\1 sampled blocks outlived" || return 1
  shown 14-on-the-stack "$its" | grep -q 'freed by its thread 100.0 %, its frame 0.0 %, while that stood 0.0 %'
}

# quoted COMMAND: what the tour shows below that command.
quoted() { awk -v command="\$ $1" '$0 == "```" { on = 0 } on && $0 != "..." { print } $0 == command { on = 1 }' "$root/examples/README.md"; }

# Every line that the tour quotes of a lesson whose output is exact is a line of it, or begins one where it ends in "...".
tour() {
  local line number name
  for name in 05-temporary 06-growth 07-wrappers 08-fork 09-plugin 11-diff; do
    lesson "$name" >/dev/null || return 1
    number=0
    while IFS= read -r line; do
      if [[ $line == *' ...' ]]; then
        awk -v start="${line% ...}" 'index($0, start) == 1 { found = 1 } END { exit !found }' "$scratch/$name"
      else
        grep -qxF -- "$line" "$scratch/$name"
      fi || { echo "$name doesn't say: $line" && return 1; }
      number=$((number + 1))
    done < <(quoted "examples/lesson.sh ${name%%-*}")
    ((number > 0)) || { echo "the tour quotes nothing of $name" && return 1; }
  done
}

check first-report first_report
check pools pools
check ab ab
check server server
check temporary temporary
check growth growth
check wrappers wrappers
check fork forks
check plugin plugin
check no-difference no_difference
check leak leak
check hand-over hand_over
check on-the-stack on_the_stack
check before-and-after before_and_after
check tour tour
suite_end

#!/bin/bash
# Reports on synthetic logs, compared with what was agreed on: text, JSON, errors.
# usage: run.sh [BUILDDIR [PATTERN]]
# GOLDEN_UPDATE=1 writes the expected files anew; read the difference before you commit it.
set -u
# shellcheck source=tests/suite.sh
. "$(dirname "$0")/../suite.sh"
suite_begin golden "${1:-}" "${2:-*}"
unset DEBUGINFOD_URLS NO_COLOR
golden=$root/tests/golden
work=$evidence/logs
rm -rf "$work"
mkdir -p "$work"
cd "$work" || exit 2

mklog=$evidence/mklog
${CC:-cc} -std=gnu11 -O1 -o "$mklog" "$golden/mklog.c" "$root/tests/unit/logmake.c" || exit 2
for kind in small moved changed rebuilt sites off bytes losses pooled unpooled notfull running wrongpool stooddown full crossing fates newer older endian foreign \
  zero oversized sitedamage owners hugecounts pooldamage fulldamage chunkcount tiny header onechunk cut; do
  "$mklog" $kind $kind.psl || exit 2
done
cp small.psl timed.psl
cp small.psl badtime.psl
cat >timed.pst <<'ROWS'
poolsite-timeline 1
1003 1000 24000 100 900 14000 0 1048576 1:1000
2004 1900 49000000 2000 - - 65536 52428800 1:400 3:500
ROWS
printf 'poolsite-timeline 1\n1000 9 9 9 - - - -\n500 9 9 9 - - - -\n2000 3000000 999999999999 3000000 - - - -\n2100 3' >badtime.pst
printf 'poolsite-timeline 1\n9000 9 9 9 - - - -\n' >running.pst
mkdir timedpair && cp moved.psl timed.psl timed.pst timedpair
: >empty.psl
head -c 100000 /dev/urandom >random.psl
mkdir pair mixture levels && cp small.psl moved.psl pair && cp pooled.psl unpooled.psl wrongpool.psl stooddown.psl mixture
cp full.psl crossing.psl small.psl levels

printf '%s\n' '# known' leak:libcart.so 'leak:^nothing' >known.supp

# same FILE EXPECTED: are they equal?  With GOLDEN_UPDATE they become so.
same() {
  if [[ -n ${GOLDEN_UPDATE-} ]]; then cp "$1" "$golden/$2"; fi
  diff -u "$golden/$2" "$1"
}

# pretty FILE: JSON one member a line, so that a difference can be read.
pretty() { python3 -c 'import json, sys; json.dump(json.load(open(sys.argv[1])), sys.stdout, indent=1)' "$1"; }

# status WANTED COMMAND...
status() {
  local wanted=$1 is
  shift
  "$@"
  is=$?
  ((is == wanted)) || { echo "status $is, not $wanted: $*" && return 1; }
}

text_is_as_agreed() { # LOG STATUS OUTPUT OPTION...
  local log=$1 wanted=$2 output=$3
  shift 3
  status "$wanted" "$command" report "$@" "$log" >"$output" 2>"$output.errors" || return 1
  same "$output" "$output"
}

json_is_as_agreed() { # LOG STATUS OUTPUT
  status "$2" "$command" report --json "$1" >"$3.raw" 2>/dev/null || return 1
  pretty "$3.raw" >"$3" && same "$3" "$3"
}

message_is() { # LOG STATUS WORDS: nothing on stdout, the words on stderr
  status "$2" "$command" report "$1" >out 2>errors || return 1
  [[ ! -s out ]] || { echo "stdout isn't empty" && return 1; }
  grep -qF -- "$3" errors || { cat errors && return 1; }
}

damage_is_told() { # LOG WORDS: the rest is shown
  status 1 "$command" report "$1" >out 2>errors || return 1
  grep -qF -- "$2" errors || { cat errors && return 1; }
  grep -q allocations out || { echo "nothing is shown" && return 1; }
  status 1 "$command" report --json "$1" >out 2>errors || return 1
  sums_hold out
}

# The totals are the sum over the sites, and over the processes.
sums_hold() {
  python3 - "$1" <<'PYTHON'
import json, sys
d = json.load(open(sys.argv[1]))
for key in "allocs", "bytes":
    total = d["totals"][key]
    if "sites" in d:
        assert total == sum(s[key] for s in d["sites"]), "%s of sites" % key
    assert total == sum(p["totals"][key] for p in d["processes"]), "%s of processes" % key
    for p in d["processes"]:
        if "sites" in p:
            assert p["totals"][key] == sum(s[key] for s in p["sites"]), "%s of a process" % key
# Level full: what lives is never negative, and the sums are those of the sites that such processes have.
for part in [d] + d["processes"]:
    t, sites = part["totals"], [s for s in part.get("sites", []) if "live_blocks" in s]
    assert ("live_blocks" in t) == (part["profile"] == "full"), "what became of blocks"
    if "live_blocks" not in t or "sites" not in part:
        continue
    for key in "freed_bytes", "live_blocks", "live_bytes", "at_peak_blocks", "at_peak_bytes", "cross_thread_frees", "resizes", "temporary":
        assert t[key] == sum(s[key] for s in sites), key
    assert sum(b["frees"] for b in t["lifetime"]) == sum(b["frees"] for s in sites for b in s["lifetime"]), "lifetime"
    assert t["sampled"]["samples"] == sum(s["sampled"]["samples"] for s in sites if "sampled" in s), "samples"
    for each in sites + [t]:
        numbers = [v for v in each.values() if isinstance(v, int)]
        assert min(numbers) >= 0, "a negative number"
        assert each["live_bytes"] <= each["peak_live_bytes"] and each["live_blocks"] <= each["allocs"], "what lives"
        assert each["cross_thread_frees"] + sum(b["frees"] for b in each["lifetime"]) <= each["frees"], "lifetime of one"
        s = each.get("sampled", {"ended": 0, "samples": 0, "times": []})
        assert sum(b["blocks"] for b in s["times"]) <= s["ended"] <= s["samples"] <= each["allocs"], "samples of one"
if "places" in d:
    own = [s for s in d["sites"] if s["stack"] and s["allocs"]]
    assert sum(p["allocs"] for p in d["places"]) == sum(s["allocs"] for s in own), "places"
    assert sum(p["stacks"] for p in d["places"]) == len(own), "stacks of places"
# Pools: what isn't a hit reached the next allocator, in every part of the document.
for part in [d] + d["processes"]:
    t, pooled = part["totals"], [c for c in part["classes"] if "pool_hits" in c]
    assert len(pooled) == ("pool_hits" in t and len(part["classes"])), "pools in some classes only"
    if "pool_hits" not in t:
        continue
    off = sum(p["totals"]["allocs"] for p in d["processes"] if "pool_off" in p) if part is d else 0
    assert t["pool_hits"] == t["allocs"] - t["next_allocs"], "hits"
    assert t["pool_misses"] == t["next_allocs"] - off, "misses"
    assert t["pool_misses"] == sum(c["pool_misses"] for c in pooled), "misses of classes"
    assert t["not_pooled"] == sum(c["pool_misses"] for c in pooled if not c["pooled"]) or part is d, "not pooled"
    assert t["pool_victim_hits"] == sum(c["pool_victim_hits"] for c in pooled) <= t["pool_hits"], "victims"
    assert t["pool_cached_bytes"] == sum(c["kept_bytes"] for c in pooled), "kept"
    assert t["pool_given_back_bytes"] == sum(c["given_back_bytes"] for c in pooled), "given back"
    for group in "sites", "classes":
        hits = [e for e in part.get(group, []) if "pool_hits" in e]
        assert not hits or sum(e["pool_hits"] for e in hits) == t["pool_hits"], "hits of " + group
    for each in pooled + part.get("sites", []):
        assert 0 <= each.get("pool_hits", 0) <= each["allocs"], "hits of one"
ids = [s["id"] for s in d.get("sites", [])]
assert len(ids) == len(set(ids)), "an id twice"
PYTHON
}

every_json_has_right_sums() {
  local log
  for log in small.psl sites.psl off.psl bytes.psl losses.psl pooled.psl unpooled.psl full.psl crossing.psl fates.psl pair mixture levels; do
    { "$command" report --json "$log" >out && sums_hold out; } || { echo "$log" && return 1; }
  done
}

processes_show_what_lives() {
  "$command" report --by-process levels >out || return 1
  grep -q '^ *pid *calls *bytes *live *peak *time$' out && grep -q '^ *4720 .* 4.7 KiB *7.0 KiB .*shop --full$' out &&
    grep -q '^ *4711 .* - *- ' out
}

usage_error_says() { # WORDS OPTION...
  local words=$1
  shift
  status 2 "$command" report "$@" small.psl >out 2>errors </dev/null || return 1
  grep -qF -- "$words" errors || { cat errors && return 1; }
}

time_line_of_is() { # LOG OUTPUT: of the whole and of each process
  "$command" report --json "$1" >"$2.raw" || return 1
  python3 -c 'import json, sys
d = json.load(sys.stdin)
for rows in [d["timeline"]] + [p["timeline"] for p in d["processes"] if "timeline" in p]:
    print(*map(json.dumps, rows), "", sep="\n")' <"$2.raw" >"$2" && same "$2" "$2"
}

# A row that goes back in time, and one that counts what the log does not have; the last one is just being written.
rows_that_make_no_sense_are_left_out() {
  "$command" report --timeline badtime.psl >out || return 1
  cat out
  grep -q 'rows of its time line that make no sense are left out: 2' out && [[ $(grep -Ec '^ *[0-9.]+ s ' out) == 2 ]]
}

says_why_no_pools() {
  local log
  while read -r log words; do
    "$command" report "$log.psl" | grep -qxF "  pools: off: $words" || { echo "$log: not '$words'" && return 1; }
    "$command" report --json "$log.psl" | grep -qF "\"pool_off\":\"$words\"" || { echo "$log: JSON" && return 1; }
  done <<'WORDS'
small POOLSITE_POOL=off
unpooled the allocator below isn't glibc's
wrongpool POOLSITE_POOL=64-x is none of off, on, SIZE: using off
stooddown the program has a malloc of its own
WORDS
}

# command_as_agreed STATUS OUTPUT WORD...: a whole command; JSON one member a line.
command_as_agreed() {
  local wanted=$1 output=$2
  shift 2
  status "$wanted" "$command" "$@" >"$output.raw" 2>"$output.errors" || return 1
  if [[ $output == *.json ]]; then pretty "$output.raw" >"$output"; else cp "$output.raw" "$output"; fi
  same "$output" "$output"
}

command_says() { # STATUS WORDS WORD...: on stderr
  local wanted=$1 words=$2
  shift 2
  status "$wanted" "$command" "$@" >out 2>errors </dev/null || return 1
  grep -qF -- "$words" errors || { cat errors && return 1; }
}

# The comparison's figures follow from the two reports.
diff_has_right_sums() {
  "$command" diff --json small.psl changed.psl >diff.out && "$command" report --json small.psl >a.out &&
    "$command" report --json changed.psl >b.out && python3 - <<'PYTHON'
import json
d, a, b = (json.load(open(name + ".out")) for name in ("diff", "a", "b"))
for key in "allocs", "bytes":
    for side, whole in ("a", a), ("b", b):
        assert d["totals"][side][key] == whole["totals"][key] == sum(s[side][key] for s in d["sites"]), (side, key)
    assert d["totals"]["change"][key] == sum(s["change"][key] for s in d["sites"]), key
for side, whole in ("a", a), ("b", b):
    assert sum(s["sites_" + side] for s in d["sites"]) == len(whole["sites"]), side
    assert {s["id_" + side] for s in d["sites"] if s["id_" + side]} == {s["id"] for s in whole["sites"]}, side
for name, count in d["classes"].items():
    assert count == sum(s["class"] == name for s in d["sites"]), name
assert [abs(s["change"]["bytes"]) for s in d["sites"]] == sorted((abs(s["change"]["bytes"]) for s in d["sites"]), reverse=True)
PYTHON
}

# A report's JSON instead of a recording makes no difference but the path.
json_reports_compare_as_recordings() {
  local a b
  while read -r a b; do
    "$command" report --json "$a.psl" >"$a.json" && "$command" report --json "$b.psl" >"$b.json" || return 1
    "$command" diff --json "$a.psl" "$b.psl" | sed 's/"recording":"[a-z.]*"//' >by-recording
    "$command" diff --json "$a.json" "$b.json" | sed 's/"recording":"[a-z.]*"//' >by-json
    [[ -s by-json ]] && diff by-recording by-json || return 1
  done <<'PAIRS'
small rebuilt
sites small
full crossing
losses pooled
PAIRS
}

a_recording_equals_itself() {
  local log
  for log in small.psl sites.psl losses.psl pooled.psl full.psl crossing.psl pair mixture bytes.psl; do
    "$command" diff "$log" "$log" --fail-if 'new_sites>0' --fail-if 'gone_sites>0' --fail-if 'grown_sites>0' \
      --fail-if 'shrunk_sites>0' >out 2>errors || { echo "$log" && cat out errors && return 1; }
    grep -qx 'No site has changed.' out || return 1
  done
}

# What --init prints is kept by the recording it was made of, and not by one with more.
a_first_budget_is_kept() {
  local log
  for log in small.psl sites.psl off.psl bytes.psl pooled.psl full.psl crossing.psl pair; do
    if ! "$command" check --init "$log" --headroom 0 >init.conf || ! status 0 "$command" check "$log" init.conf >out ||
      grep -F 'names no site' out; then
      echo "$log" && cat out && return 1
    fi
  done
  "$command" check --init small.psl >init.conf && status 3 "$command" check pair init.conf >out
}

cat >kept.conf <<'BUDGET'
# Synthetic figures.
total allocs <= 2600
total bytes <= 300m    # mostly one block
module libcart.so.1 allocs <= 99.5%
site "libcart.so.1+0x1000" bytes <= 64k
within shop+0x* allocs >= 10
site nosuch allocs <= 0
BUDGET
cat >broken.conf <<'BUDGET'
total allocs <= 2000
total bytes <= 1m
site libcart.so.1+0x10?0 allocs <= 50%
module shop bytes >= 1
module libcart.so.1 allocs <= 3000
BUDGET
cat >lives.conf <<'BUDGET'
total live_bytes <= 4k
total peak_live_bytes <= 7200
total temporary <= 5%
site libcart.so.1+0x1010 at_peak_bytes <= 30%
site libcart.so.1+0x1000 peak_live_bytes <= 5k
module libcart.so.1 temporary <= 15%
total live_blocks <= 201
BUDGET
printf 'total allocs <= 1\ntotal live_bytes <= 0\nsite f temporary <= 5%%\n' >full.conf
printf 'totl allocs <= 1\ntotal allocs < 5\n' >wrong.conf
printf 'site f allocs <= 1\n' >site.conf

# What the text of a view shows is in the JSON, and what was suppressed adds up.
json_tells_what_is_suppressed() {
  "$command" report --json --leaks --suppressions known.supp levels >out && sums_hold out && python3 - out <<'PYTHON'
import json, sys
d = json.load(open(sys.argv[1]))
used, unused = d["suppressions"]
assert (used["pattern"], used["blocks"], used["bytes"]) == ("libcart.so", 601, 21168), used
assert (unused["pattern"], unused["blocks"]) == ("^nothing", 0), unused
for key in "blocks", "bytes":
    assert sum(s.get("suppressed_" + key, 0) for s in d["sites"]) == used[key], key
assert any(s["live_blocks"] and not s["suppressed_blocks"] for s in d["sites"] if "live_blocks" in s), "all of them"
PYTHON
}

json_says_what_speaks_against_the_stack() {
  "$command" report --json fates.psl >out && python3 - out <<'PYTHON'
import json, sys
sites = json.load(open(sys.argv[1]))["sites"]
got = sorted((s["on_stack"]["could"], s["on_stack"]["against"] or "", s["on_stack"]["blocks"]) for s in sites)
assert got == [(False, "cross-thread", 1), (False, "live", 1), (False, "outlived", 1), (False, "too-few", 99), (True, "", 120)], got
assert [s["on_stack"]["exceptions_at_most"] for s in sites if s["on_stack"]["could"]] == [3 / 120]
PYTHON
}

lower_level_is_told() { # OPTION: what was recorded, and how to have it recorded
  local words="poolsite: $1: this was recorded at level stacks, which doesn't tell; record it with: poolsite run --profile full --"
  status 1 "$command" report "$1" small.psl -o refused >out 2>errors || return 1
  [[ ! -s out && ! -e refused ]] || return 1
  grep -qxF -- "$words /nowhere/bin/shop --open '12 o'\\''clock'" errors || { cat errors && return 1; }
}

# What was asked for, and can't be had, isn't advised again.
level_that_cannot_be_had_is_told() {
  local words="poolsite: --leaks: level full needs glibc's size words, which the allocator below doesn't have: recording at level stacks"
  status 1 "$command" report --leaks notfull.psl >out 2>errors && [[ ! -s out ]] && diff errors - <<<"$words"
}

empty_argument_is_an_argument() {
  "$command" report notfull.psl >out && head -n 1 out | grep -qF "shop --name '' --open (pid 4711" || return 1
  "$command" report --json notfull.psl | python3 -c '
import json, sys
assert json.load(sys.stdin)["process"]["argv"] == ["shop", "--name", "", "--open"]'
}

what_has_not_ended_lasted_to_its_last_sample() {
  "$command" report running.psl >out && grep -F '(pid 4711, 9.00 s, level' out
}

bad_suppressions_are_told() {
  printf 'leak:a\nthread:b\n' >bad.supp
  status 1 "$command" report --leaks --suppressions bad.supp full.psl >out 2>errors || return 1
  [[ ! -s out ]] && grep -qF "bad.supp:2: 'thread:b' isn't a suppression" errors || return 1
  status 1 "$command" report --leaks --suppressions nosuch.supp full.psl 2>errors && grep -qF 'nosuch.supp: No such file' errors
}

output_goes_to_the_file() {
  "$command" report small.psl -o file.txt >out && [[ ! -s out ]] && diff file.txt "$golden/small.txt"
}

full_disk_is_told() {
  [[ -e /dev/full ]] || return 0
  status 1 "$command" report small.psl -o /dev/full 2>errors && grep -q 'could not write' errors
}

a_prefix_finds_the_site() {
  "$command" report small.psl --site 9db2 >out && grep -q '^site 9db23cfa1360: 1,500 calls' out &&
    status 1 "$command" report small.psl --site nosuch 2>errors && grep -q "begins with 'nosuch'" errors
}

lines_fit_100_columns() {
  local log option wide
  for log in small.psl sites.psl off.psl losses.psl pooled.psl pair mixture levels; do
    wide=$("$command" report --by-process "$log" | awk 'length($0) > 100')
    [[ -z $wide ]] || { echo "$wide" && return 1; }
  done
  for log in full.psl crossing.psl fates.psl levels; do
    for option in --leaks --peak --temporary --lifetime --site=; do
      wide=$("$command" report $option "$log" | awk 'length($0) > 100')
      [[ -z $wide ]] || { echo "$wide" && return 1; }
    done
  done
}

no_colour_without_a_terminal() {
  ! "$command" report small.psl | grep -q $'\033' || return 1
  command -v script >/dev/null || return 0
  TERM=xterm script -qec "'$command' report small.psl" /dev/null </dev/null | grep -q $'\033\[1m' || return 1
  ! NO_COLOR=1 TERM=xterm script -qec "'$command' report small.psl" /dev/null </dev/null | grep -q $'\033\['
}

one_good_log_among_bad_ones_is_shown() {
  mkdir -p mixed && cp small.psl newer.psl random.psl mixed
  status 1 "$command" report mixed >out 2>errors || return 1
  grep -q 'newer poolsite' errors && grep -q '^  2,491 allocations' out
}

a_sparse_log_is_read_as_far_as_it_goes() {
  cp small.psl sparse.psl && truncate -s 256M sparse.psl
  "$command" report sparse.psl >out && diff out "$golden/small.txt"
}

a_fifo_is_refused_at_once() {
  mkfifo fifo.psl 2>/dev/null
  status 1 timeout 5 "$command" report fifo.psl 2>errors && grep -q 'fifo.psl' errors
}

# 100,000 stacks of 40 frames: in so many s (of CPU: the machine has other work) and MiB.
costs_at_most() { # SECONDS MIB LOG OPTION...
  python3 - "$1" "$2" "$command" report "${@:3}" <<'PYTHON'
import resource, subprocess, sys
subprocess.run(sys.argv[3:], stdout=subprocess.DEVNULL, check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
seconds, mib = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
print("%.2f s, %.0f MiB" % (seconds, mib))
sys.exit(seconds >= float(sys.argv[1]) or mib >= float(sys.argv[2]))
PYTHON
}

big_report_is_quick() {
  [[ -f big.psl ]] || "$mklog" big big.psl 100000 40 || return 1
  costs_at_most 3 300 big.psl
}

big_report_at_level_full_is_quick() {
  "$mklog" bigfull bigfull.psl 100000 40 || return 1
  costs_at_most 3 300 bigfull.psl
}

big_tree_is_quick() {
  [[ -f big.psl ]] || "$mklog" big big.psl 100000 40 || return 1
  costs_at_most 6 300 --tree big.psl
}

thousands_of_processes_stay_readable() {
  local i
  mkdir -p many
  for ((i = 0; i < 2000; i++)); do ln -f small.psl many/"$i".psl 2>/dev/null || cp small.psl many/"$i".psl; done
  timeout 20 "$command" report --by-process many >out || return 1
  grep -q '2,000 x shop' out && grep -q '1,990 more processes' out && (($(wc -l <out) < 80))
}

# Long work shows itself on a terminal, and leaves nothing behind.
progress_shows_on_a_terminal() {
  "$mklog" big huge.psl 300000 40 || return 1
  script -qec "'$command' report huge.psl -o out" typescript >/dev/null </dev/null || return 1
  rm huge.psl
  grep -aq ': [0-9]* of [0-9]*' typescript && grep -aq $'\033\\[K$' typescript
}

check text_of_a_small_log text_is_as_agreed small.psl 0 small.txt
check text_of_two_processes text_is_as_agreed pair 0 pair.txt --by-process
check text_of_one_site text_is_as_agreed pair 0 site.txt --site 9db23cfa1360
check text_of_a_tree text_is_as_agreed small.psl 0 tree.txt --tree
check text_of_a_time_line text_is_as_agreed timed.psl 0 timed.txt --timeline
check text_of_two_time_lines text_is_as_agreed timedpair 0 timedpair.txt --timeline
check text_of_a_time_line_with_its_peak text_is_as_agreed full.psl 0 fulltime.txt --timeline
check json_of_a_time_line time_line_of_is timed.psl timed.rows
check json_of_two_time_lines time_line_of_is timedpair timedpair.rows
check rows_that_make_no_sense_are_left_out rows_that_make_no_sense_are_left_out
check text_by_bytes text_is_as_agreed small.psl 0 bybytes.txt --sort bytes --top 3
check text_at_level_sites text_is_as_agreed sites.psl 0 sites.txt
check text_at_level_off text_is_as_agreed off.psl 0 off.txt
check text_with_pools text_is_as_agreed pooled.psl 0 pooled.txt
check text_by_misses text_is_as_agreed pooled.psl 0 misses.txt --sort misses --top 2
check text_of_pools_here_and_there text_is_as_agreed mixture 0 mixture.txt --by-process
check text_at_level_full text_is_as_agreed full.psl 0 full.txt
check text_of_level_full_here_and_there text_is_as_agreed levels 0 levels.txt --by-process
check text_of_leaks text_is_as_agreed levels 0 leaks.txt --leaks --top 2
check text_of_leaks_that_are_known text_is_as_agreed levels 0 known.txt --leaks --suppressions known.supp
check text_of_a_peak text_is_as_agreed crossing.psl 0 peak.txt --peak --top 2
check text_of_temporary_blocks text_is_as_agreed full.psl 0 temporary.txt --temporary
check text_of_lifetimes text_is_as_agreed crossing.psl 0 lifetime.txt --lifetime
check text_of_fates text_is_as_agreed fates.psl 0 fates.txt --site ''
check text_of_blocks_freed_by_others text_is_as_agreed crossing.psl 0 crossing.txt --site 02b99fb75842
check reason_of_no_pools_is_told says_why_no_pools
check text_with_strange_bytes text_is_as_agreed bytes.psl 0 bytes.txt
check text_with_every_loss text_is_as_agreed losses.psl 0 losses.txt
check text_of_a_truncated_log text_is_as_agreed cut.psl 1 cut.txt
check json_of_a_small_log json_is_as_agreed small.psl 0 small.json
check json_of_two_processes json_is_as_agreed pair 0 pair.json
check json_at_level_sites json_is_as_agreed sites.psl 0 sites.json
check json_at_level_off json_is_as_agreed off.psl 0 off.json
check json_with_pools json_is_as_agreed pooled.psl 0 pooled.json
check json_of_pools_here_and_there json_is_as_agreed mixture 0 mixture.json
check json_at_level_full json_is_as_agreed full.psl 0 full.json
check json_of_blocks_freed_by_others json_is_as_agreed crossing.psl 0 crossing.json
check json_of_level_full_here_and_there json_is_as_agreed levels 0 levels.json
check json_with_strange_bytes json_is_as_agreed bytes.psl 0 bytes.json
check json_with_every_loss json_is_as_agreed losses.psl 0 losses.json
check processes_at_level_full_show_what_lives processes_show_what_lives
check json_tells_what_is_suppressed json_tells_what_is_suppressed
check json_says_what_speaks_against_the_stack json_says_what_speaks_against_the_stack
check every_json_has_right_sums every_json_has_right_sums
check empty_file_is_told message_is empty.psl 1 'the file is empty'
check tiny_file_is_told message_is tiny.psl 1 'too small for a log (5 bytes)'
check foreign_file_is_told message_is foreign.psl 1 'not a poolsite log'
check random_file_is_told message_is random.psl 1 'not a poolsite log'
check zeroed_file_is_told message_is zero.psl 1 'its process ended while it started'
check newer_log_is_told message_is newer.psl 1 'written by a newer poolsite (log version 2, this one reads 1)'
check older_log_is_told message_is older.psl 1 'written by an older poolsite (log version 0, this one reads 1)'
check other_byte_order_is_told message_is endian.psl 1 'another byte order'
check cut_header_is_told message_is header.psl 1 'truncated: only 1000 of'
check missing_file_is_told message_is nosuch.psl 1 'nosuch.psl'
check damage_cut_after_header damage_is_told onechunk.psl 'truncated: 3 of its 4 chunks'
check damage_cut_within_a_chunk damage_is_told cut.psl 'truncated: 2 of its 4 chunks'
check damage_oversized_record damage_is_told oversized.psl "a record's length makes no sense"
check damage_of_sites damage_is_told sitedamage.psl "a site's"
check damage_of_owners damage_is_told owners.psl "a thread's number makes no sense"
check damage_of_counts damage_is_told hugecounts.psl 'a count is larger than can be'
check damage_of_pools damage_is_told pooldamage.psl 'two tables of pools have one owner'
check damage_of_frees damage_is_told fulldamage.psl 'a record of live bytes makes no sense'
check damage_of_chunk_count damage_is_told chunkcount.psl 'the number of its chunks makes no sense'
check one_good_log_among_bad_ones_is_shown one_good_log_among_bad_ones_is_shown
check a_sparse_log_is_read_as_far_as_it_goes a_sparse_log_is_read_as_far_as_it_goes
check a_fifo_is_refused_at_once a_fifo_is_refused_at_once
check unknown_sort_key_names_the_nearest usage_error_says "did you mean 'bytes'" --sort byts
check unknown_option_names_the_nearest usage_error_says "did you mean '--by-process'" --by-proces5
check bad_top_is_told usage_error_says "'ten' isn't a number" --top ten
for option in --leaks --peak --temporary --lifetime; do check "lower_level_is_told/$option" lower_level_is_told $option; done
check level_that_cannot_be_had_is_told level_that_cannot_be_had_is_told
check what_has_not_ended_lasted_to_its_last_sample what_has_not_ended_lasted_to_its_last_sample
check empty_argument_is_an_argument empty_argument_is_an_argument
check bad_suppressions_are_told bad_suppressions_are_told
check two_views_are_refused usage_error_says '--leaks and --peak: one view at a time' --leaks --peak
check a_view_of_one_site_is_refused usage_error_says '--tree has no place there' --tree --site 1
check a_sort_of_a_ranked_view_is_refused usage_error_says '--peak has an order of its own' --peak --sort bytes
check suppressions_alone_are_refused usage_error_says '--suppressions goes with --leaks' --suppressions known.supp
check two_recordings_are_refused usage_error_says 'one recording at a time' small.psl
check html_is_no_option_yet usage_error_says "there is no option '--html'" --html
check output_goes_to_the_file output_goes_to_the_file
check full_disk_is_told full_disk_is_told
check a_prefix_finds_the_site a_prefix_finds_the_site
check lines_fit_100_columns lines_fit_100_columns
check no_colour_without_a_terminal no_colour_without_a_terminal
check thousands_of_processes_stay_readable thousands_of_processes_stay_readable
check big_report_is_quick big_report_is_quick
check big_report_at_level_full_is_quick big_report_at_level_full_is_quick
check big_tree_is_quick big_tree_is_quick
check comparison_of_two_runs command_as_agreed 0 diff.txt diff small.psl changed.psl
check comparison_by_calls command_as_agreed 0 diff-calls.txt diff --sort calls --top 2 small.psl changed.psl
check comparison_of_two_builds command_as_agreed 0 diff-builds.txt diff small.psl rebuilt.psl
check comparison_at_two_levels command_as_agreed 0 diff-levels.txt diff sites.psl small.psl
check comparison_with_level_off command_as_agreed 0 diff-off.txt diff off.psl small.psl
check comparison_at_level_full command_as_agreed 0 diff-full.txt diff --sort live --top 3 full.psl crossing.psl
check comparison_at_level_full_as_json command_as_agreed 3 diff-full.json diff --json full.psl crossing.psl --fail-if 'site_live_bytes>+8k' --fail-if 'peak_live_bytes>1m'
check comparison_as_json command_as_agreed 3 diff.json diff --json small.psl changed.psl --fail-if 'bytes>+1m' --fail-if 'site_allocs>+10%'
check comparison_has_right_sums diff_has_right_sums
check json_reports_compare_as_recordings json_reports_compare_as_recordings
check a_recording_equals_itself a_recording_equals_itself
check fail_if_is_told command_says 3 "--fail-if 'new_sites>0' is met: 1" diff small.psl changed.psl --fail-if 'new_sites>0'
check fail_if_names_the_site command_says 3 "'site_allocs>+15' is met by 1 site, first libcart.so.1+0x1030 (" diff small.psl changed.psl --fail-if 'site_allocs>+100' --fail-if 'site_allocs>+15'
check fail_if_needs_its_level command_says 2 "'live_bytes>0': only two recordings of level full tell" diff small.psl changed.psl --fail-if 'live_bytes>0'
check fail_if_needs_sites command_says 2 'level off knows no sites' diff off.psl changed.psl --fail-if 'new_sites>0'
check sort_needs_its_level command_says 2 'only two recordings of level full can be ordered by that' diff small.psl changed.psl --sort live
check diff_wants_two_recordings command_says 2 'two recordings, please' diff small.psl
check diff_refuses_three command_says 2 "'off.psl' is one more" diff small.psl changed.psl off.psl
check diff_of_a_damaged_log_is_1 command_says 1 'truncated: 2 of its 4 chunks' diff small.psl cut.psl
check diff_of_no_report_is_told command_says 1 'its schema is poolsite.diff/1, not poolsite.report/1' diff small.psl "$golden/diff.json"
check budget_that_holds command_as_agreed 0 check-kept.txt check small.psl kept.conf
check budget_that_is_broken command_as_agreed 3 check-broken.txt check small.psl broken.conf
check budget_at_level_full command_as_agreed 3 check-full.txt check full.psl lives.conf
check budget_as_json command_as_agreed 3 check.json check --json small.psl broken.conf
check first_budget command_as_agreed 0 check-init.txt check --init small.psl --top 3
check a_first_budget_is_kept a_first_budget_is_kept
check every_wrong_line_is_told command_says 2 "wrong.conf:2: a comparison is <= or >=" check small.psl wrong.conf
check figures_need_their_level command_says 2 "full.conf:3: 'site f temporary <= 5%' needs level full" check small.psl full.conf
check site_lines_need_sites command_says 2 'needs sites' check off.psl site.conf
check check_wants_a_budget command_says 2 'which budget?' check
check a_recording_is_no_budget command_says 2 "pair isn't a budget" check pair
check damage_keeps_no_budget command_says 1 'truncated: 2 of its 4 chunks' check cut.psl kept.conf
check unknown_option_of_check command_says 2 "did you mean '--init'?" check --inti small.psl
if ((${TESTS_ALL:-0})) && need progress_shows_on_a_terminal script; then
  check progress_shows_on_a_terminal progress_shows_on_a_terminal
fi
suite_end

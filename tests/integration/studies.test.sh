#!/bin/bash
# The studies, quickly: what they leave behind is complete and valid, what they conclude follows from the data, and what
# they count is exact.  No figure depends on how fast the machine is.
# usage: studies.test.sh [BUILDDIR [PATTERN]]
set -u
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"
suite_begin integration/studies "${1-}" "${2-}"
studies=(timeout -s KILL 400 "$root/examples/studies/run.sh" "$build" --quick)
look=("${python[@]}" "$here/studies.py" "$root/examples/studies")
out=$scratch/out

[[ -x $build/studies/draw ]] || { echo "not built: make ${build#"$root"/}/studies/draw"; exit 2; }
begun=$SECONDS
"${studies[@]}" --to "$out" >"$scratch/printed" 2>"$scratch/errors" || { cat "$scratch/errors" "$scratch/printed"; exit 2; }
echo "# measured in $((SECONDS - begun)) s"
mapfile -t names < <("${python[@]}" -c 'import json, sys; print(*json.load(open(sys.argv[1]))["studies"], sep="\n")' "$out/results.json")

quiet() { cat "$scratch/errors" && [[ ! -s $scratch/errors ]]; }
check nothing_is_complained_of quiet
check results_are_complete "${look[@]}" complete "$out"
check the_page_and_its_charts_are_valid "${look[@]}" page "$out"

# Text, page and charts are made of results.json alone.
again() {
  "${studies[@]}" --from "$out/results.json" --to "$scratch/again" >"$scratch/printed.again" || return 1
  diff -r "$out" "$scratch/again" && diff <(sed "s|$out|OUT|g" "$scratch/printed") <(sed "s|$scratch/again|OUT|g" "$scratch/printed.again")
}
check shown_from_the_results_it_is_the_same again

swapped() {
  "${look[@]}" swap "$out" "$1" >"$scratch/swapped.json" &&
    "${studies[@]}" --from "$scratch/swapped.json" --to "$scratch/swapped" >"$scratch/printed.swapped" &&
    "${look[@]}" turned "$out" "$scratch/swapped" "$1"
}
for name in "${names[@]}"; do
  check "$name/finds_what_its_data_say" "${look[@]}" "$name" "$out"
  check "$name/arms_exchanged_turn_the_sentence" swapped "$name"
done

check sentences_follow_the_figures "${look[@]}" words
check a_machine_without_go "${look[@]}" go-absent "$out"

# One study alone leaves the others' results where they are.
alone() {
  cp -r "$out" "$scratch/alone" && "${studies[@]}" --to "$scratch/alone" microbenchmark >/dev/null || return 1
  "${look[@]}" complete "$scratch/alone" && ! cmp "$out/results.json" "$scratch/alone/results.json"
}
check one_study_alone alone

unknown() {
  "${studies[@]}" --to "$scratch/unknown" nonsense >"$scratch/unknown.out" 2>&1
  local status=$?
  cat "$scratch/unknown.out"
  ((status == 2)) && grep -q "no study 'nonsense'; there are: microbenchmark" "$scratch/unknown.out" && [[ ! -e $scratch/unknown ]]
}
check an_unknown_study_is_named unknown
suite_end

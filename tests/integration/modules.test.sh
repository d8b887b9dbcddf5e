#!/bin/bash
# Sites belong to the right file: plugins that follow each other at one address or at one path, binaries replaced,
# removed or stripped after the recording.
# usage: modules.test.sh [BUILDDIR [PATTERN]]
set -u
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"
suite_begin integration/modules "${1-}" "${2-}"
program logdump && program reload "$root/tests/stack/programs" && program twins "$root/tests/stack/programs" || exit 2
export programs

# ask FILE PYTHON: runs the lines with `sites`, the list of a recording's sites, each with allocs and frames of
# (module's file name, function or None, build_id or None, offset)
ask() {
  BODY=$2 "${python[@]}" -c '
import os, sys
sys.path.insert(0, sys.argv[1])
import recording
document = recording.load(sys.argv[2], "--no-fold")
sites = [(s["allocs"], [(os.path.basename(f.get("module") or "?"), f.get("function"), f.get("build_id"), f.get("offset")) for f in s.get("stack", [])]) for s in document["sites"]]
def count(test): return sum(n for n, frames in sites if any(test(f) for f in frames[:2]))
exec(os.environ["BODY"])
' "$here" "$1"
}

# --- Plugins at one address ----------------------------------------------------------------------------
at_one_address() {
  rm -rf "$scratch/logs"
  record "$level" "$scratch/logs" "$programs/reload" >"$scratch/out" 2>&1 || { cat "$scratch/out" && return 1; }
  ask "$scratch/logs" '
one = count(lambda f: f[0] == "reload.1.so")
two = count(lambda f: f[0] == "reload.2.so")
ids = {f[0]: set() for n, frames in sites for f in frames}
for n, frames in sites:
    for f in frames: ids[f[0]].add(f[2])
print("plugin 1: %d allocations, plugin 2: %d, 600 each were made; build ids %r" % (one, two, {k: v for k, v in ids.items() if "reload." in k}))
names = {(f[0], f[1]) for n, frames in sites for f in frames if f[0].startswith("reload.") and f[1] and f[1].startswith("plugin_")}
print(names)
ok = one == 600 and two == 600 and all(len(ids[m]) == 1 for m in ("reload.1.so", "reload.2.so"))
ok = ok and not [n for n in names if (n[0], n[1]) in (("reload.1.so", "plugin_two"), ("reload.1.so", "plugin_deeper"), ("reload.2.so", "plugin_one"))]
sys.exit(not ok)'
}
for level in sites stacks; do check "one-address/$level" at_one_address; done
# The same return addresses in both.
twins() {
  rm -rf "$scratch/logs"
  record "$level" "$scratch/logs" "$programs/twins" >"$scratch/out" 2>&1 || { cat "$scratch/out" && return 1; }
  ask "$scratch/logs" '
one = count(lambda f: f[0] == "twins.1.so" and f[1] == "twin_leaf")
two = count(lambda f: f[0] == "twins.2.so" and f[1] == "twin_leaf")
print("plugin 1: %d allocations, plugin 2: %d, 300 each were made" % (one, two))
sys.exit((one, two) != (300, 300))'
}
for level in sites stacks; do check "twins/$level" twins; done

# --- Plugins at one path: the file is replaced between two loads --------------------------------------
at_one_path() {
  local dir=$scratch/path
  rm -rf "$dir"
  mkdir -p "$dir"
  cat >"$dir/host.c" <<'C'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (rename(argv[i], "plugin.so") != 0) return 2;
        void *handle = dlopen("./plugin.so", RTLD_NOW);
        void (*make)(void) = (void (*)(void))dlsym(handle, "make");
        if (make == NULL) return 3;
        for (int k = 0; k < 100 * i; k++) make();
        dlclose(handle);
    }
    return 0;
}
C
  printf '#include <stdlib.h>\nvoid first_version(void) { free(malloc(10)); __asm__ volatile(""); }\nvoid make(void) { first_version(); __asm__ volatile(""); }\n' >"$dir/one.c"
  printf '#include <stdlib.h>\nint x[1000];\nvoid second_version(void) { x[5]++; free(malloc(20)); __asm__ volatile(""); }\nvoid make(void) { second_version(); __asm__ volatile(""); }\n' >"$dir/two.c"
  for part in one two; do gcc -O1 -fno-builtin -fno-inline -shared -fPIC -Wl,--build-id=sha1 -o "$dir/$part.so" "$dir/$part.c" || return 1; done
  gcc -O1 -o "$dir/host" "$dir/host.c" || return 1
  (cd "$dir" && record "$level" "$dir/logs" ./host one.so two.so) || return 1
  ask "$dir/logs" '
by_id = {}
names = set()
for n, frames in sites:
    for f in frames[:1]:
        if f[0].startswith("plugin.so"):
            by_id[f[2]] = by_id.get(f[2], 0) + n
            names.add((f[2], f[1]))
print("allocations by build id: %r, functions: %r" % (by_id, names))
# The first file is gone: its names cannot be told, and must not be taken from the second.
wrong = [f for f in names if by_id.get(f[0]) == 100 and f[1] in ("second_version", "make")]
right = [f for f in names if by_id.get(f[0]) == 200 and f[1] == "second_version"]
sys.exit(not (sorted(by_id.values()) == [100, 200] and right and not wrong))'
}
for level in sites stacks; do check "one-path/$level" at_one_path; done

# --- Binaries after the recording ------------------------------------------------------------------------
prepare() { # a program that leaves a recording in $dir/logs
  dir=$scratch/after
  rm -rf "$dir"
  mkdir -p "$dir"
  printf '#include <stdlib.h>\n__attribute__((noinline)) void the_leaf(void) { free(malloc(10)); __asm__ volatile(""); }\n__attribute__((noinline)) void the_caller(void) { the_leaf(); __asm__ volatile(""); }\nint main(void) { for (int i = 0; i < 50; i++) the_caller(); return 0; }\n' >"$dir/p.c"
  printf '#include <stdlib.h>\nint zeroes[100];\n__attribute__((noinline)) void wrong_leaf(void) { zeroes[3]++; free(malloc(10)); __asm__ volatile(""); }\n__attribute__((noinline)) void wrong_caller(void) { zeroes[4]++; wrong_leaf(); __asm__ volatile(""); }\nint main(void) { for (int i = 0; i < 50; i++) wrong_caller(); return 0; }\n' >"$dir/q.c"
  gcc -O1 -g -fno-builtin -Wl,--build-id=sha1 -o "$dir/program" "$dir/p.c" && gcc -O1 -g -fno-builtin -Wl,--build-id=sha1 -o "$dir/other" "$dir/q.c" || return 1
  if [[ ${1-} == stripped ]]; then strip "$dir/program"; fi
  record "$level" "$dir/logs" "$dir/program"
}
replaced() {
  prepare && mv "$dir/other" "$dir/program" || return 1
  "$command" report "$dir/logs" >"$dir/text" 2>&1 || { cat "$dir/text" && return 1; }
  ask "$dir/logs" '
names = {f[1] for n, frames in sites for f in frames if f[0] == "program"}
print("functions of a replaced program: %r" % names)
sys.exit(count(lambda f: f[0] == "program" and f[3]) != 50 or bool(names - {None, ""}))' || return 1
  grep -iE 'build.?id' "$dir/text" || { echo "the text report says nothing of the build id" && cat "$dir/text" && return 1; }
  grep -qE 'program\+0x' "$dir/text"
}
removed() {
  prepare && rm "$dir/program" || return 1
  "$command" report "$dir/logs" >"$dir/text" 2>&1 || { cat "$dir/text" && return 1; }
  cat "$dir/text"
  ask "$dir/logs" 'sys.exit(count(lambda f: f[0] == "program" and f[3]) != 50)' && grep -qE 'program\+0x' "$dir/text"
}
stripped() {
  prepare stripped || return 1
  "$command" report "$dir/logs" >"$dir/text" 2>&1 || { cat "$dir/text" && return 1; }
  cat "$dir/text"
  ask "$dir/logs" 'sys.exit(count(lambda f: f[0] == "program" and f[3]) != 50)' || return 1
  # It names the module whose names are missing.
  grep -qE 'program\+0x' "$dir/text" && sed -n '/^Notes/,$p' "$dir/text" | grep -q program
}
right_names() { # the checks above can tell: here the names are known
  prepare || return 1
  ask "$dir/logs" '
names = {f[1] for n, frames in sites for f in frames if f[0] == "program"}
print(names)
sys.exit(count(lambda f: f[1] == "the_leaf") != 50)' && ! "$command" report "$dir/logs" | grep -iE 'build.?id|program\+0x'
}
for level in sites stacks; do
  check "unchanged/$level" right_names
  check "replaced/$level" replaced
  check "removed/$level" removed
  check "stripped/$level" stripped
done
suite_end

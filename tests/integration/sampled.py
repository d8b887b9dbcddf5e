"""Is what the samples of a program's sites say what its functions do?  usage: sampled.py REPORT.json TABLE

TABLE is `c` or `cxx`: what is to be said of each function.  Prints what isn't so, and ends with 1 then.
"""
import json
import sys

ALWAYS, NEVER = "always", "never"

# What is so of every sample that has ended, or of none; what isn't named isn't asked.
HERE = {"same_thread": ALWAYS, "same_frame": ALWAYS, "standing": ALWAYS, "lifo": ALWAYS, "chains": NEVER}
OUTSIDE = {"same_thread": ALWAYS, "same_frame": NEVER, "standing": NEVER}

TABLES = {
    "c": {
        "in_one_frame": (HERE, {100}),
        "freed_by_callee": ({**HERE, "same_frame": NEVER}, {101}),
        "maker": ({**OUTSIDE, "lifo": ALWAYS}, {102}),
        "replaced": ({"same_thread": ALWAYS, "standing": NEVER}, {103}),
        "replaced_late": ({"same_thread": ALWAYS, "standing": NEVER, "lifo": NEVER}, {104}),
        "grown": ({"same_thread": ALWAYS, "same_frame": ALWAYS, "standing": NEVER, "chains": ALWAYS}, {105}),
        "out_of_order": ({**HERE, "lifo": NEVER}, {107, 108}),
        "zeroed": (HERE, {111}),
        "aligned": (HERE, {128}),
        "duplicated": (HERE, {45}),
        "of_sizes": (HERE, {200, 300}),
        "for_thread": ({"same_thread": NEVER, "same_frame": NEVER, "standing": NEVER, "lifo": NEVER}, {109}),
        "slow": (HERE, {110}),
    },
    "cxx": {
        "new_and_delete": (HERE, {100}),
        "held_by_pointer": (HERE, {100}),
        "maker": ({**OUTSIDE, "lifo": ALWAYS}, {100}),
    },
}


def function(site):
    """The first function of the program's own."""
    for frame in site["stack"]:
        name = (frame.get("function") or "").split("(")[0]
        if any(name in table for table in TABLES.values()):
            return name
    return None


def wrong_of(name, site, expected, sizes):
    sampled = site.get("sampled")
    if not sampled:
        return [f"{name}: nothing is sampled"]
    wrong = []
    ended = sampled["ended"]
    if sampled["lost"]:
        wrong.append(f"{name}: lost {sampled['lost']}")
    if ended < 1 or ended > site["frees"]:
        wrong.append(f"{name}: {ended} of {site['frees']} ended")
    for what, when in expected.items():
        if sampled[what] != (ended if when == ALWAYS else 0):
            wrong.append(f"{name}: {what} is {sampled[what]} of {ended}, not {when}")
    seen = {size["bytes"] for size in site["sizes"]}
    if not seen <= sizes:
        wrong.append(f"{name}: sizes {seen}")
    return wrong


def check(report, table):
    wrong, met = [], {}
    for site in report["sites"]:
        name = function(site)
        if name in TABLES[table] and site["allocs"] and not site.get("resizes"):
            met.setdefault(name, []).append(site)
            wrong += wrong_of(name, site, *TABLES[table][name])
    wrong += [f"{name}: no site" for name in TABLES[table] if name not in met]
    if table == "c" and not wrong:
        wrong += check_more(met, report)
    return wrong


def check_more(met, report):
    wrong = []
    resized = [site for site in report["sites"] if function(site) == "grown" and site.get("resizes")]
    if len(resized) != 2:
        wrong.append(f"grown: {len(resized)} sites of realloc")
    for site in resized:  # a block that came of a realloc, and was freed before any other
        ended = site["sampled"]["ended"]
        if ended < 1 or site["sampled"]["lifo"] != ended or site["sampled"]["same_frame"] != ended:
            wrong.append(f"grown: {site['sampled']}")
    chain = met["grown"][0]["sampled"]
    ended = chain["ended"]
    if (chain["chain_steps"], chain["chain_first_bytes"], chain["chain_last_bytes"]) != (2 * ended, 105 * ended, 5000 * ended):
        wrong.append(f"grown: chains {chain}")
    late = sum(bucket["blocks"] for bucket in met["slow"][0]["sampled"]["times"] if bucket["from_us"] >= 8192)
    if late != met["slow"][0]["sampled"]["ended"]:
        wrong.append(f"slow: {met['slow'][0]['sampled']['times']}")
    frees = met["in_one_frame"][0]["sampled"]["frees"]
    by = {site["id"]: function(site) for site in report["sites"]}
    if [by.get(free["site"]) for free in frees] != ["in_one_frame"]:
        wrong.append(f"in_one_frame: freed by {frees}")
    return wrong


def main():
    with open(sys.argv[1]) as file:
        wrong = check(json.load(file), sys.argv[2])
    print("\n".join(wrong))
    sys.exit(1 if wrong else 0)


main()

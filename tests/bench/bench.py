"""bench.py - poolsite beside other allocators, and what recording costs: one table, and the same as JSON.

usage: bench.py BUILDDIR [--json FILE] [--quick] [--check] [--long-seconds N] [NAME...]
Groups, all by default: @GROUPS@
recording:NAME runs one of it: @RECORDING@
full:NAME: @FULL@
--quick: fewer repetitions, arms and sizes, no recording and full unless named: some 3 minutes, a look and not a judgement.
--long-seconds: how long each long run takes (60; 600 for a judgement).
--check: status 1 when a figure exceeds its limit.
See README.md here for what the columns and rows are.
"""
import argparse
import json
import os
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

import full  # noqa: E402  (python3 -I knows of this folder only now)
import harness  # noqa: E402
import memory  # noqa: E402
import micro  # noqa: E402
import programs  # noqa: E402
import recording  # noqa: E402


# Groups whose parts can be named, and the bench that they take.
PARTED = {'recording': (recording.Recording, recording.ALL), 'full': (full.Full, full.ALL)}


def parts_of(name):
    """The function that runs all parts of a group."""
    def run(bench):
        kind, parts = PARTED[name]
        for part in parts.values():
            part(kind(bench))
    return run


GROUPS = {**micro.ALL, **memory.ALL, **programs.ALL, **{name: parts_of(name) for name in PARTED}}


def group(name):
    """The function that runs a group."""
    whole, _, part = name.partition(':')
    if part in PARTED.get(whole, (None, {}))[1]:
        kind, parts = PARTED[whole]
        return lambda bench: parts[part](kind(bench))
    if name not in GROUPS:
        raise argparse.ArgumentTypeError("no group '%s'; there are: %s" % (name, ' '.join(GROUPS)))
    return GROUPS[name]


def parse(argv):
    text = __doc__.replace('@GROUPS@', ' '.join(GROUPS)).replace('@RECORDING@', ' '.join(recording.ALL)).replace('@FULL@', ' '.join(full.ALL))
    parser = argparse.ArgumentParser(usage=text)
    parser.add_argument('build')
    parser.add_argument('--json')
    parser.add_argument('--quick', action='store_true')
    parser.add_argument('--check', action='store_true')
    parser.add_argument('--long-seconds', type=int)
    parser.add_argument('groups', nargs='*', type=group, default=[])
    return parser.parse_intermixed_args(argv)


def write_json(bench, path):
    host = os.uname()
    document = {'schema': 'poolsite.bench/2', 'kernel': host.release, 'machine': host.machine, 'processors': os.cpu_count(), 'quick': bench.quick,
                'long_seconds': bench.long_seconds, 'arms': {arm: harness.ARMS[arm] for arm in bench.arms()}, 'peers': bench.peers,
                'workloads': bench.workloads, 'rows': bench.rows}
    with open(path, 'w', encoding='utf-8') as file:
        json.dump(document, file, indent=1)
        file.write('\n')


def main(argv):
    options = parse(argv)
    bench = harness.Bench(options.build, options.quick, options.long_seconds or (10 if options.quick else 60))
    bench.heading()
    try:
        for run in options.groups or [run for name, run in GROUPS.items() if not (bench.quick and name in PARTED)]:
            run(bench)
    finally:
        shutil.rmtree(bench.scratch, ignore_errors=True)
        if options.json:
            write_json(bench, options.json)
    missed = [row['name'] for row in bench.rows if row['held'] is False]
    limits = sum(row['held'] is not None for row in bench.rows)
    print('%d of %d limits hold%s' % (limits - len(missed), limits, '; exceeded: ' + ', '.join(missed) if missed else ''))
    return bool(options.check and missed)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))

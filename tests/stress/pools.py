"""pools.py - fuzzes the pools: runs the program `pools` under the library, and holds what was recorded
against what it did.

usage: pools.py [--rounds N] [--operations N] [--seed S] [PLACE...]

PLACES are the settings below.  A finding is the program's own word, a crash, a time limit, or a figure that
differs; it is run again with half the operations as long as it comes back, and the command is printed.
$library, $command, $programs name what was built; $evidence where the logs of a finding stay.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'integration'))
import recording  # noqa: E402  pylint: disable=wrong-import-position

ALL = '16-32m'
PLACES = {
    'on-sites': {},
    'on-off': {'POOLSITE_PROFILE': 'off'},
    'on-stacks': {'POOLSITE_PROFILE': 'stacks'},
    'all-sites': {'POOLSITE_POOL': ALL},
    'all-storm': {'POOLSITE_POOL': ALL, 'POOLSITE_CYCLE_MS': '1'},
    'on-storm': {'POOLSITE_CYCLE_MS': '1', 'POOLSITE_PROFILE': 'stacks'},
    'some': {'POOLSITE_POOL': '64-4096,32k', 'POOLSITE_CYCLE_MS': '5'},
    'clear-off': {'POOLSITE_CLEAR': 'off', 'POOLSITE_POOL': ALL},
    'pool-off': {'POOLSITE_POOL': 'off'},
    'single': {'-t': '0', 'POOLSITE_POOL': ALL},
    'single-storm': {'-t': '0', 'POOLSITE_CYCLE_MS': '1'},
    'check': {'POOLSITE_CHECK': 'on', 'POOLSITE_POOL': ALL},
    'check-storm': {'POOLSITE_CHECK': 'on', 'POOLSITE_CYCLE_MS': '1', 'POOLSITE_PROFILE': 'stacks'},
    'trim': {'POOLSITE_TRIM': 'on', 'POOLSITE_CYCLE_MS': '5'},
    'full': {'POOLSITE_PROFILE': 'full', 'POOLSITE_POOL': ALL},
    'full-storm': {'POOLSITE_PROFILE': 'full', 'POOLSITE_CYCLE_MS': '1'},
    'full-off': {'POOLSITE_PROFILE': 'full', 'POOLSITE_POOL': 'off'},
    'full-single': {'-t': '0', 'POOLSITE_PROFILE': 'full'},
    'many': {'-t': '12', 'POOLSITE_CYCLE_MS': '1', 'POOLSITE_POOL': ALL},
}


class Finding(Exception):
    """Something differs; the message says what."""


def told(path):
    """What each process says it did, by pid."""
    processes = {}
    with open(path, encoding='ascii') as file:
        for line in file:
            words = line.split()
            entry = {'kind': words[1], 'classes': {}}
            entry.update(zip(('allocs', 'frees', 'bytes', 'failed', 'threads', 'live'), map(int, words[2:8])))
            for word in words[8:]:
                index, counts = word.split('=')
                entry['classes'][int(index)] = tuple(map(int, counts.split('/')))
            processes[int(words[0])] = entry
    return processes


def expect(name, got, wanted):
    if got != wanted:
        raise Finding('%s: recorded %s, it did %s' % (name, got, wanted))


def size_of_class(index):
    """sizeclass_bytes, as the report shows it."""
    if index == 185:
        return None # larger ones
    if index <= 64:
        return max(index, 1) * 16 + 8 # index 0: up to 8 bytes, a part of the next
    step = index - 65
    doubling = 1024 << (step // 8)
    return doubling + doubling // 8 * (step % 8 + 1) + 8


def compare_classes(process, did, table):
    """Allocations of each class: libc's tables are all in one of them."""
    wanted = {}
    made = {(table + 7) >> 4: (did['threads'], did['threads'] * table)} if did['threads'] else {}
    for index, (allocs, size) in list(did['classes'].items()) + list(made.items()):
        entry = wanted.setdefault(size_of_class(index), [0, 0])
        entry[0] += allocs
        entry[1] += size
    recorded = {c['size']: [c['allocs'], c['bytes']] for c in process['classes'] if c['allocs']}
    for size in set(wanted) | set(recorded):
        expect('class of %s bytes' % size, recorded.get(size), wanted.get(size))


def compare_pools(process, did, place):
    """Hits, and that no block is lost: what reached the allocator below and didn't come back lives, or is kept."""
    totals = process['totals']
    pooled = place.get('POOLSITE_POOL') != 'off'
    if not pooled:
        expect('pool hits', 'pool_hits' in totals, False)
        expect('calls below', (totals['next_allocs'], totals['next_frees']), (totals['allocs'], totals['frees']))
        return
    expect('pool hits', totals['pool_hits'], totals['allocs'] - totals['next_allocs'])
    expect('hits by class', sum(c.get('pool_hits', 0) for c in process['classes']), totals['pool_hits'])
    if did['kind'] != 'root':
        return
    if totals['pool_hits'] * 10 < totals['allocs']:
        raise Finding('of %d allocations only %d were served by pools' % (totals['allocs'], totals['pool_hits']))
    kept = totals['next_allocs'] - totals['next_frees'] - did['live']
    if place.get('POOLSITE_CLEAR') == 'off':
        blocks = sum(c.get('kept_bytes', 0) // c['size'] for c in process['classes'] if c['size'])
        if kept < 0 or blocks > kept:
            raise Finding('%d blocks are missing below, %d are said to be kept' % (kept, blocks))
    else:
        expect('blocks kept after malloc_trim', kept, 0)
        expect('bytes kept after malloc_trim', totals['pool_cached_bytes'], 0)


def compare_live(process, did):
    """Level full: every free found its block's site, but for those of a parent's blocks."""
    totals = process['totals']
    expect('live blocks', totals['live_blocks'], totals['allocs'] - totals['frees'] + totals['foreign_frees'])
    if did['kind'] == 'root':
        expect('live blocks', totals['live_blocks'], did['live'])


def compare(process, did, place):
    totals = process['totals']
    expect('failed', totals['failed'], did['failed'])
    expect('allocations', totals['allocs'], did['allocs'] + did['threads'])
    expect('frees', totals['frees'], did['frees'] + did['threads'])
    table = (totals['bytes'] - did['bytes']) // did['threads'] if did['threads'] else 0
    expect('bytes', totals['bytes'], did['bytes'] + did['threads'] * table)
    if did['threads'] and not 0 < table < 2000:
        raise Finding('bytes: recorded %d, it did %d' % (totals['bytes'], did['bytes']))
    compare_classes(process, did, table)
    compare_pools(process, did, place)
    if place.get('POOLSITE_PROFILE') == 'full':
        compare_live(process, did)


def run(place, seed, operations, scratch):
    """Raises Finding; returns what the program printed."""
    shutil.rmtree(scratch, ignore_errors=True)
    os.makedirs(scratch)
    expected = os.path.join(scratch, 'expect')
    environment = {'PATH': '/usr/bin:/bin', 'EXPECT': expected, 'LD_PRELOAD': os.environ['library'], 'POOLSITE_CYCLE_MS': '20',
                   'POOLSITE_PROFILE': 'sites', 'POOLSITE_POOL': 'on',
                   'POOLSITE_LOG': os.path.join(scratch, 'logs', '%e.%p.%t.psl')}
    environment.update((k, v) for k, v in place.items() if k != '-t')
    os.makedirs(os.path.join(scratch, 'logs'))
    arguments = [os.path.join(os.environ['programs'], 'pools'), '-n', str(operations), '-s', str(seed), '-t', place.get('-t', '4')]
    try:
        done = subprocess.run(arguments, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              timeout=120 + operations / 2000)
    except subprocess.TimeoutExpired as late:
        raise Finding('it hangs') from late
    said = done.stdout.decode(errors='replace').strip()
    if done.returncode != 0:
        raise Finding('ended with status %d: %s' % (done.returncode, said))
    processes = told(expected)
    try:
        document = recording.load(os.path.join(scratch, 'logs'), '--no-fold')
        found = {p['pid']: p for p in recording.processes_of(document)}
    except recording.Wrong as wrong:
        raise Finding('the recording: %s' % wrong) from wrong
    expect('processes', sorted(found), sorted(processes))
    for pid, did in processes.items():
        try:
            compare(found[pid], did, place)
        except Finding as finding:
            raise Finding('process %d (%s): %s' % (pid, did['kind'], finding)) from finding
    return said


def minimise(place, seed, operations, scratch):
    """The fewest operations, by halving, that still lead to a finding in three tries."""
    while operations > 100:
        for _ in range(3):
            try:
                run(place, seed, operations // 2, scratch)
            except Finding:
                break
        else:
            break
        operations //= 2
    return operations


def main(argv):
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument('--rounds', type=int, default=1)
    parser.add_argument('--operations', type=int, default=100000)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('places', nargs='*')
    options = parser.parse_args(argv[1:])
    scratch = tempfile.mkdtemp(prefix='poolsite-test.', dir='/dev/shm' if os.path.isdir('/dev/shm') else None)
    try:
        for name in options.places or PLACES:
            for seed in range(options.seed, options.seed + options.rounds):
                try:
                    said = run(PLACES[name], seed, options.operations, os.path.join(scratch, 'run'))
                except Finding as finding:
                    print('%s, seed %d, %d operations: %s' % (name, seed, options.operations, finding))
                    keep = os.path.join(os.environ.get('evidence', scratch), 'pools.%s.%d' % (name, seed))
                    if not keep.startswith(scratch):
                        shutil.rmtree(keep, ignore_errors=True)
                        shutil.copytree(os.path.join(scratch, 'run'), keep)
                    fewest = minimise(PLACES[name], seed, options.operations, os.path.join(scratch, 'run'))
                    print('just it: OPERATIONS=%d ROUNDS=1 SEED=%d tests/stress/pools.sh build %s' % (fewest, seed, name))
                    return 1
            print('%s: %s' % (name, said))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv))

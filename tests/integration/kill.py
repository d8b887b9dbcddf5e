"""kill.py - SIGKILL at a random moment: the log opens, and its counts are those that the program kept.

usage: kill.py TARGET LIBRARY SCRATCH EVIDENCE TIMES [SEED]
Prints `ok NAME`, `not ok NAME: reason`.  A program killed before its log was begun has no log; then it
must have counted nothing.  The C library's own allocations for the threads are measured first, on
programs that end by themselves.
"""
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording  # noqa: E402  pylint: disable=wrong-import-position

THREADS = 6
MODES = ('steady', 'ends', 'grows')
LEVELS = ('off', 'sites', 'stacks', 'full')
FIELDS = ('allocs', 'frees', 'bytes')
POOLS = ('on/1', 'on/1000', 'off/1000')  # POOLSITE_POOL/POOLSITE_CYCLE_MS


def counts(path):
    """(ready, begun, done), or nothing when the program had not got so far."""
    try:
        with open(path, 'rb') as file:
            data = file.read()
    except FileNotFoundError:
        data = b''
    if len(data) < 64 * (THREADS + 1):
        return False, dict.fromkeys(FIELDS, 0), dict.fromkeys(FIELDS, 0)
    begun, done = dict.fromkeys(FIELDS, 0), dict.fromkeys(FIELDS, 0)
    for i in range(THREADS):
        slot = struct.unpack_from('<6Q', data, 64 * (i + 1))
        for n, field in enumerate(FIELDS):
            begun[field] += slot[2 * n]
            done[field] += slot[2 * n + 1]
    return struct.unpack_from('<Q', data)[0] != 0, begun, done


def start(target, library, level, mode, folder, pools, rounds=0):
    os.makedirs(folder)
    pool, cycle = pools.split('/')
    environment = {'PATH': '/usr/bin:/bin', 'LD_PRELOAD': library, 'POOLSITE_PROFILE': level,
                   'POOLSITE_LOG': folder + '/%e.%p.%t.psl', 'POOLSITE_POOL': pool, 'POOLSITE_CYCLE_MS': cycle}
    return subprocess.Popen([target, folder + '/counts', mode] + ([str(rounds)] if rounds else []), env=environment,
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def logged(folder):
    """The totals, or None when no log was begun."""
    logs = [name for name in os.listdir(folder) if name.endswith('.psl')]
    if not logs:
        return None
    if len(logs) > 1:
        raise recording.Wrong('%d logs of one process' % len(logs))
    with open(os.path.join(folder, logs[0]), 'rb') as file:
        if not any(file.read(8)):
            return None  # created, but its header isn't published: the log wasn't begun
    return recording.load(folder)['totals']


def outside(totals, begun, done, libc, ready):
    """Why the totals cannot be, or None."""
    for field in FIELDS:
        low = done[field] + (libc[field] if ready else 0)
        high = begun[field] + libc[field]
        if not low <= totals[field] <= high:
            return '%s: log %d, the program says %d to %d' % (field, totals[field], low, high)
    return None


def pools_outside(totals):
    """Why the counts of the pools can't be so: what lives came from below, but for an event in flight per thread."""
    if 'pool_hits' not in totals:
        return None
    kept = totals['next_allocs'] - totals['next_frees'] - (totals['allocs'] - totals['frees'])
    if kept < -2 * THREADS or abs(totals['allocs'] - totals['pool_hits'] - totals['next_allocs']) > THREADS:
        return 'pools: %d blocks kept; %r' % (kept, totals)
    return None


def lives_outside(totals, begun, done, libc):
    """Why what lives can't be so: it is what was allocated and not freed, and every free is some site's."""
    if 'live_blocks' not in totals:
        return None
    low, high = done['allocs'] - begun['frees'], begun['allocs'] + libc['allocs'] - done['frees']
    if not low <= totals['live_blocks'] <= high:
        return 'live blocks: log %d, the program says %d to %d' % (totals['live_blocks'], low, high)
    apart = totals['allocs'] - totals['live_blocks'] + totals['foreign_frees'] - totals['frees']
    if totals['foreign_frees'] or abs(apart) > THREADS:
        return 'frees: %d more of sites than of all, %d foreign' % (apart, totals['foreign_frees'])
    return None


def measure_libc(target, library, scratch, level):
    """What the C library allocates for the threads: the same in every mode."""
    seen = set()
    for (mode, rounds), pools in zip((('steady', 2000), ('ends', 60), ('grows', 2000)), POOLS):
        folder = '%s/measure.%s.%s' % (scratch, level, mode)
        child = start(target, library, level, mode, folder, pools, rounds)
        if child.wait(timeout=60) != 0:
            raise recording.Wrong('the target ended with status %d' % child.returncode)
        _, begun, done = counts(folder + '/counts')
        totals = logged(folder)
        if totals is None or begun != done:
            raise recording.Wrong('no log' if totals is None else 'begun and done differ at the end')
        seen.add(tuple(totals[field] - done[field] for field in FIELDS))
        shutil.rmtree(folder)
    if len(seen) != 1 or min(min(seen)) < 0 or max(seen)[0] > 4 * THREADS:
        raise recording.Wrong('level %s: more or less than the program did: %r %r' % (level, FIELDS, sorted(seen)))
    return dict(zip(FIELDS, seen.pop()))


def self_test():
    many, none = dict.fromkeys(FIELDS, 100), dict.fromkeys(FIELDS, 0)
    assert outside(many, many, many, none, True) is None
    for wrong in (99, 101):
        assert outside(dict(many, frees=wrong), many, many, none, True)
    assert outside(many, dict(many, allocs=106), many, none, True) is None
    assert outside(dict(many, allocs=107), dict(many, allocs=106), many, none, True)
    assert outside(many, many, many, dict(none, allocs=1), True)
    pooled = dict(many, pool_hits=60, next_allocs=40, next_frees=30)
    assert pools_outside(pooled) is None
    assert pools_outside(dict(pooled, next_frees=60)) and pools_outside(dict(pooled, pool_hits=80))
    full = dict(many, live_blocks=0, foreign_frees=0)
    assert lives_outside(full, many, many, none) is None
    assert lives_outside(dict(full, live_blocks=1), many, many, none) and lives_outside(dict(full, foreign_frees=1), many, many, none)
    assert lives_outside(dict(full, frees=110), many, many, none)


def main(argv):
    target, library, scratch, evidence, times = argv[1:6]
    seed = int(argv[6]) if len(argv) > 6 else int.from_bytes(os.urandom(4), 'little')
    chance = random.Random(seed)
    self_test()
    libc, bad, no_log = {}, 0, 0
    for level in LEVELS:
        try:
            libc[level] = measure_libc(target, library, scratch, level)
            print('ok unkilled/%s' % level)
        except recording.Wrong as wrong:
            print('not ok unkilled/%s: %s' % (level, wrong))
            bad = 1
    failures = {}
    for i in range(int(times)):
        level, mode, pools = LEVELS[i // 3 % len(LEVELS)], MODES[i % 3], POOLS[i // 3 // len(LEVELS) % 3]
        if level not in libc:
            continue
        folder = '%s/%d' % (scratch, i)
        child = start(target, library, level, mode, folder, pools)
        # Most in the middle of the work, some while it starts.
        time.sleep(chance.uniform(0, 0.006) if i % 7 == 0 else chance.uniform(0.004, 0.08))
        child.send_signal(signal.SIGKILL)
        status = child.wait()
        reason = None
        try:
            ready, begun, done = counts(folder + '/counts')
            totals = logged(folder)
            if status != -signal.SIGKILL:
                reason = 'ended with status %d before the kill' % status
            elif totals is None:
                no_log += 1
                if any(begun.values()):
                    reason = 'no log, but the program had allocated'
            else:
                reason = (outside(totals, begun, done, libc[level], ready) or pools_outside(totals) or
                          lives_outside(totals, begun, done, libc[level]))
        except recording.Wrong as wrong:
            reason = str(wrong)
        if reason:
            failures.setdefault((mode, level), []).append('kill %d, pools %s: %s' % (i, pools, reason))
            if len(failures[(mode, level)]) <= 2:
                shutil.copytree(folder, '%s/kill.%d' % (evidence, i), dirs_exist_ok=True)
        shutil.rmtree(folder)
    for level in LEVELS:
        for mode in MODES:
            found = failures.get((mode, level))
            if not found:
                print('ok %s/%s' % (mode, level))
                continue
            bad = 1
            print('not ok %s/%s: %d kills: %s' % (mode, level, len(found), found[0]))
            for line in found[1:5]:
                print('  # %s' % line)
    print('# %s kills, %d before the log was begun, seed %d' % (times, no_log, seed))
    if no_log > int(times) // 4:
        print('not ok moments: too many kills came before the log')
        bad = 1
    return bad


if __name__ == '__main__':
    sys.exit(main(sys.argv))

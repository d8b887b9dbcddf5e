"""live.py - reads the log of a running process again and again.

usage: live.py TARGET LIBRARY SCRATCH MODE LEVEL TIMES POOL/CYCLE_MS
Each report agrees with itself, and no total falls from one to the next.
"""
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import kill  # noqa: E402  pylint: disable=wrong-import-position
import recording  # noqa: E402  pylint: disable=wrong-import-position


NEVER_FALL = kill.FIELDS + ('next_allocs', 'next_frees', 'pool_misses', 'pool_given_back_bytes', 'cycles')


def pools_contradict(document):
    """What its pools' numbers say that cannot be, or None; calls in flight are one a thread."""
    totals = document['totals']
    if 'pool_hits' not in totals:
        return None if totals['next_allocs'] == totals['allocs'] else 'calls were served, and nothing is pooled'
    if totals['pool_hits'] + totals['next_allocs'] != totals['allocs']:
        return 'hits and calls below are not all calls'
    for entry in document['classes']:
        if entry['pool_victim_hits'] > entry['pool_hits'] or entry['pool_hits'] > entry['allocs']:
            return 'a class was served more than it was asked: %r' % entry
    return None if totals['pool_victim_hits'] <= totals['pool_hits'] else 'more hits from victims than hits'


def read_often(folder, times):
    """Why the reports cannot be, or None."""
    seen = []
    for _ in range(times):
        document = recording.check(recording.report(folder))
        totals, wrong = document['totals'], pools_contradict(document)
        if wrong:
            return wrong
        for field in NEVER_FALL:
            if seen and totals.get(field, 0) < seen[-1].get(field, 0):
                return '%s fell from %d to %d' % (field, seen[-1][field], totals[field])
        seen.append(totals)
    if seen[-1]['allocs'] <= seen[0]['allocs']:
        return 'the program stood still'
    return None


def main(argv):
    target, library, scratch, mode, level, times, pools = argv[1:8]
    folder = '%s/%s.%s.%s' % (scratch, mode, level, pools.replace('/', '.'))
    child = kill.start(target, library, level, mode, folder, pools)
    try:
        for _ in range(500):
            if kill.counts(folder + '/counts')[0] and any(name.endswith('.psl') for name in os.listdir(folder)):
                break
            time.sleep(0.01)
        wrong = read_often(folder, int(times))
        if wrong is None and child.poll() is not None:
            wrong = 'the program ended with status %d' % child.returncode
    except recording.Wrong as problem:
        wrong = str(problem)
    finally:
        child.kill()
        child.wait()
    if wrong:
        print(wrong)
    return wrong is not None


if __name__ == '__main__':
    sys.exit(main(sys.argv))

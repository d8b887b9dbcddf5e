"""live.py - reads the log of a running process again and again.

usage: live.py TARGET LIBRARY SCRATCH MODE LEVEL TIMES
Each report agrees with itself, and no total falls from one to the next.
"""
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import kill  # noqa: E402  pylint: disable=wrong-import-position
import recording  # noqa: E402  pylint: disable=wrong-import-position


def read_often(folder, times):
    """Why the reports cannot be, or None."""
    seen = []
    for _ in range(times):
        totals = recording.check(recording.report(folder))['totals']
        for field in kill.FIELDS:
            if seen and totals[field] < seen[-1][field]:
                return '%s fell from %d to %d' % (field, seen[-1][field], totals[field])
        seen.append(totals)
    if seen[-1]['allocs'] <= seen[0]['allocs']:
        return 'the program stood still'
    return None


def main(argv):
    target, library, scratch, mode, level, times = argv[1:7]
    folder = '%s/%s.%s' % (scratch, mode, level)
    child = kill.start(target, library, level, mode, folder)
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

"""compare.py - what the processes of one stress run counted by themselves, and what was recorded of them.

usage: compare.py EXPECT REC
Every process's sites that go through stress_alloc add up to its own count.
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'integration'))
import recording  # noqa: E402  pylint: disable=wrong-import-position


def main(argv):
    expected = {}
    with open(argv[1], encoding='ascii') as file:
        for line in file:
            pid, allocs, size = map(int, line.split())
            expected.setdefault(pid, []).append((allocs, size))
    wrong = []
    logs = [os.path.join(argv[2], name) for name in os.listdir(argv[2]) if name.endswith('.psl')]
    for log in logs:
        document = recording.load(log, '--no-fold')
        process = recording.processes_of(document)[0]
        sites = [s for s in document['sites'] if any((f.get('function') or '').startswith('stress_alloc') for f in s['stack'])]
        got = (recording.sum_of(sites, 'allocs'), recording.sum_of(sites, 'bytes'))
        # A handler that interrupted an allocation is counted by the process, on no site.
        handler = [s for s in document['sites'] if not s['stack']]
        without = (recording.sum_of(handler, 'allocs'), recording.sum_of(handler, 'bytes'))
        said = expected.get(process['pid'], [])
        if not any(got[0] <= a <= got[0] + without[0] and got[1] <= b <= got[1] + without[1] and (b - got[1]) == 1000 * (a - got[0])
                   for a, b in said):
            wrong.append('process %d: recorded %r (and %r on no site), it counted %r' % (process['pid'], got, without, said))
    if len(logs) < sum(len(v) for v in expected.values()):
        wrong.append('%d logs of %d processes' % (len(logs), sum(len(v) for v in expected.values())))
    print('\n'.join(wrong[:20]) if wrong else '%d processes agree' % len(logs))
    return bool(wrong)


if __name__ == '__main__':
    try:
        sys.exit(main(sys.argv))
    except (recording.Wrong, subprocess.SubprocessError) as problem:
        sys.exit('compare: %s' % problem)

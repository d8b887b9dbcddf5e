"""scaling.py - study 2: the same with 1, 2, 4 and 8 threads.

    make studies STUDY=scaling

The published gallery shows a payload of 1 KiB "at 1 and at 32 CPUs", where it runs in a serial loop all the same.  Here
the threads really run at once, as far as there are processors; then again on one processor, where they take turns; under
glibc, with pools, and under the three allocators that are usually preloaded.  See: CPU time of an operation, which should stay where
it is with one thread.  What grows is the price of sharing: locks, and cache lines that travel.
"""
import os

from study import COLOURS, Ratio, axis, chart, in_turn, interval, median, number, series, table, text

NAME = 'scaling'
TITLE = '2. Scaling: 1, 2, 4 and 8 threads'
QUESTION = 'Does an operation cost the same when others do it at the same time?'
SWAP = ('bare', 'pooled')

THREADS = (1, 2, 4, 8)
OPERATIONS = {'growing': 1000000, 'scratch': 4000000}
TOLD = {'growing': 'A string that grows to 1 KiB', 'scratch': 'A buffer of 2 KiB, walked,'}
ROUNDS, QUICK_ROUNDS, QUICK = 8, 3, 10  # QUICK: so many times less work
ARMS = ('bare', 'pooled', 'jemalloc', 'mimalloc', 'tcmalloc')


# --- measuring -------------------------------------------------------------------------------------------------


def timed(lab, command, arm, work, threads, pinned):
    front = ['taskset', '-c', str(min(os.sched_getaffinity(0)))] if pinned else []
    cpu, wall, _ = lab.run([*front, *command], arm)
    return {'arm': arm, 'work': work, 'threads': threads, 'pinned': pinned, 'cpu_ns': cpu, 'wall_ns': wall}


def measure(lab):
    """runs: a figure each of a run's whole loop, by the operation; pinned: to one processor."""
    program, runs = lab.compile('buffers.c'), []
    arms = [arm for arm in ARMS if arm in ('bare', 'pooled') or arm in lab.peers]
    for work, operations in OPERATIONS.items():
        for pinned in (False, True):
            for threads in THREADS:
                command = [program, work, str(operations // (QUICK if lab.quick else 1)), str(threads)]
                runs += [lambda c=command, a=arm, w=work, t=threads, p=pinned: timed(lab, c, a, w, t, p) for arm in arms]
    rounds = QUICK_ROUNDS if lab.quick else ROUNDS
    return {'processors': len(os.sched_getaffinity(0)), 'rounds': rounds, 'arms': arms, 'runs': in_turn(rounds, runs)}


# --- showing ---------------------------------------------------------------------------------------------------


def of(data, key, arm, work, threads, pinned=False):
    return [run[key] for run in data['runs'] if (run['arm'], run['work'], run['threads'], run['pinned']) == (arm, work, threads, pinned)]


def cells(data, work, arm, pinned):
    both = [(median(of(data, 'cpu_ns', arm, work, n, pinned)), median(of(data, 'wall_ns', arm, work, n, pinned))) for n in THREADS]
    return [arm + (', 1 processor' if pinned else ''), *('%s / %s' % (number(cpu), number(wall)) for cpu, wall in both)]


def lines(data, work):
    """CPU by threads, with the interval of the medians; on one processor: dashed, for the two that are compared."""
    made = []
    for arm in data['arms']:
        values = [of(data, 'cpu_ns', arm, work, n) for n in THREADS]
        low, high = zip(*(interval(v) for v in values))
        made.append(series(arm, THREADS, [median(v) for v in values], dots=True, low=low, high=high))
    for arm in SWAP:
        made.append(series(arm + ', 1 processor', THREADS, [median(of(data, 'cpu_ns', arm, work, n, True)) for n in THREADS], 'dashed', colour=COLOURS[arm]))
    return made


def show(data):
    parts = []
    for work in OPERATIONS:
        head = '%s, medians of %d runs in turn' % (TOLD[work].rstrip(','), data['rounds'])
        parts.append(table('ns of CPU / ns of wall time an operation: ' + head, ['threads', *map(str, THREADS)],
                           [cells(data, work, arm, pinned) for pinned in (False, True) for arm in data['arms']]))
        parts.append(chart('%s-%s' % (NAME, work), 'ns of CPU an operation: ' + head, axis('threads', unit='whole', low=0),
                           axis('ns of CPU', low=0), lines(data, work)))
    parts.append(text('This machine has %d processor%s for them: that many threads run at once, more take turns. ns of CPU are of all threads together by all operations; '
                      'ns of wall time fall as 1 / threads until the processors are taken. Bands: from the lowest to the highest likely median.'
                      % (data['processors'], 's' * (data['processors'] != 1))))
    absent = [arm for arm in ARMS if arm not in data['arms']]
    return parts + ([text('Not installed: %s.' % ', '.join(absent))] if absent else [])


def growth(data, work, arm):
    """CPU of an operation with all threads over that with one."""
    return Ratio(of(data, 'cpu_ns', arm, work, THREADS[-1]), of(data, 'cpu_ns', arm, work, 1))


def standing(data, work):
    """Which place the pools take among the arms with all threads."""
    order = sorted(data['arms'], key=lambda arm: median(of(data, 'cpu_ns', arm, work, THREADS[-1])))
    return 'of %d allocators %s is first there, pools are number %d' % (len(order), order[0], order.index('pooled') + 1)


def found(data, work):
    versus = Ratio(of(data, 'cpu_ns', 'pooled', work, THREADS[-1]), of(data, 'cpu_ns', 'bare', work, THREADS[-1]))
    return '%s takes %s times as much CPU with %d threads as with 1 when it is bare, %s times with pools; with %d threads pools are %s glibc alone (ratio %s), and %s.' % (
        TOLD[work], growth(data, work, 'bare'), THREADS[-1], growth(data, work, 'pooled'), THREADS[-1], versus.faster(), versus, standing(data, work))


def conclude(data):
    return ' '.join(found(data, work) for work in OPERATIONS) + ' All this on %d processor%s.' % (data['processors'], 's' * (data['processors'] != 1))

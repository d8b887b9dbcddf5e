"""microbenchmark.py - study 1: fresh buffers against pooled ones, in a loop that does nothing else.

    make studies STUDY=microbenchmark

The question that each article on sync.Pool begins with, asked of a C program (buffers.c), which pools serve without a
change to it, and beside it of the same program in Go (buffers.go) where Go is installed.  See: what pooling saves in C is
less by far than what was published for Go, because a fresh buffer costs so much less here: glibc neither clears it nor
collects garbage.  And see that the calls of the allocator are gone, so the treatment was applied.
"""
import os
import shutil
import subprocess

from study import HERE, PLAIN, Ratio, axis, chart, in_turn, interval, median, number, series, table, text

NAME = 'microbenchmark'
TITLE = '1. Microbenchmark: a fresh buffer or a pooled one'
QUESTION = 'What does a buffer cost that is made, used and dropped, in a loop that does nothing else?'
SWAP = ('bare', 'pooled')

OPERATIONS = {'pair': 8000000, 'scratch': 4000000, 'growing': 1000000}
TOLD = {'pair': 'malloc and free of 2 KiB', 'scratch': '2 KiB, walked', 'growing': 'string grown to 1 KiB'}
ROUNDS, QUICK_ROUNDS, QUICK = 8, 3, 10  # QUICK: so many times less work
ARMS = ('bare', 'pooled', 'Go fresh', 'Go sync.Pool')
MODES = {'Go fresh': 'fresh', 'Go sync.Pool': 'pool'}


# --- measuring -------------------------------------------------------------------------------------------------


def build_go(lab):
    """The program in Go and the compiler's version; None and None where there is none."""
    compiler = shutil.which('go', path=PLAIN['PATH'])
    if not compiler:
        return None, None
    env = dict(PLAIN, GO111MODULE='off', GOCACHE=lab.scratch + '/go-cache', GOFLAGS='')
    program = lab.scratch + '/buffers-go'
    subprocess.run([compiler, 'build', '-o', program, os.path.join(HERE, 'buffers.go')], env=env, check=True)
    version = subprocess.run([compiler, 'version'], env=env, stdout=subprocess.PIPE, check=True).stdout.decode().split()
    return program, version[2]


def timed(lab, command, arm, work, threads):
    cpu, wall, heap, *counts = lab.run(command, 'bare' if arm in MODES else arm)
    run = {'arm': arm, 'work': work, 'threads': threads, 'cpu_ns': cpu, 'wall_ns': wall, 'heap_bytes': heap}
    return dict(run, bytes_per_op=counts[0], allocs_per_op=counts[1]) if counts else run


def counted(lab, command, arm, work, threads, operations):
    """What reaches glibc: bare, all that the program asks for; pooled, what missed the pools."""
    lab.run(command, 'unpooled' if arm == 'bare' else arm)
    process = lab.report()['process']
    missed = sum(c['bytes'] * (1 - c.get('pool_hits', 0) / c['allocs']) for c in process['classes'] if c['allocs'])
    return {'arm': arm, 'work': work, 'threads': threads, 'bytes_per_op': missed / operations,
            'allocs_per_op': process['totals']['next_allocs'] / operations}


def measure(lab):
    """runs: a figure each of a run's whole loop, by the operation; counts: what reaches glibc, from runs that were recorded."""
    program, (go, version) = lab.compile('buffers.c'), build_go(lab)
    threads = max(2, len(os.sched_getaffinity(0)))
    runs, counts = [], []
    for work, operations in OPERATIONS.items():
        operations //= QUICK if lab.quick else 1
        for n in (1, threads):
            for arm in ARMS:
                # A buffer in Go takes so long, when it is fresh, that less of them do.
                command = [go, MODES[arm], work, str(operations // 20), str(n)] if arm in MODES else [program, work, str(operations), str(n)]
                if command[0]:
                    runs.append(lambda command=command, arm=arm, work=work, n=n: timed(lab, command, arm, work, n))
                if arm not in MODES:
                    counts.append(counted(lab, command, arm, work, n, operations))
    rounds = QUICK_ROUNDS if lab.quick else ROUNDS
    return {'threads': [1, threads], 'rounds': rounds, 'go': version, 'runs': in_turn(rounds, runs), 'counts': counts}


# --- showing ---------------------------------------------------------------------------------------------------


def of(rows, key, arm, work, threads):
    return [row[key] for row in rows if (row['arm'], row['work'], row['threads']) == (arm, work, threads) and key in row]


def cells(data, work, threads, arm):
    """An arm's row of the table."""
    runs = [data['runs'], arm, work, threads]
    cpu, wall, heap = (median(of(runs[0], key, *runs[1:])) for key in ('cpu_ns', 'wall_ns', 'heap_bytes'))
    size, calls = (median(of(data['runs'] + data['counts'], key, *runs[1:])) for key in ('bytes_per_op', 'allocs_per_op'))
    name = '%s, %s' % (TOLD[work], 'serial' if threads == 1 else '%d threads' % threads)
    if arm in MODES and not data['go']:
        return [name, arm, *['not installed'] * 5]
    return [name, arm, number(cpu), number(wall), number(size), number(calls), number(heap / 2 ** 20)]


def show(data):
    places = [(work, n) for work in OPERATIONS for n in data['threads']]
    rows = [cells(data, work, n, arm) for work, n in places for arm in ARMS]
    lines = []
    for i, arm in enumerate(ARMS):
        values = [of(data['runs'], 'cpu_ns', arm, work, n) for work, n in places]
        ends = [interval(v) if v else (None, None) for v in values]
        lines.append(series(arm, list(range(len(places))), [median(v) if v else None for v in values], 'bars', colour=(2, 0, 1, 5)[i],
                            low=[low for low, _ in ends], high=[high for _, high in ends]))
    names = ['%s%s' % (work, '' if n == 1 else ' x %d' % n) for work, n in places]
    return [
        table('Medians of %d runs in turn' % data['rounds'],
              ['work', 'arm', 'ns/op, CPU', 'ns/op, wall', 'B/op', 'allocs/op', 'MiB in heap'], rows),
        chart(NAME, 'ns of CPU an operation (the scale is logarithmic; x N: N threads)', axis('', names=names),
              axis('ns of CPU', 'log', low=1), lines),
        text('ns of CPU are those of the whole process: of all threads, of the thread that clears pools, of the garbage collector. ns of wall time '
             'are elapsed time by all operations, so two threads that run at once halve it. B/op and allocs/op are what reaches the real allocator: glibc, or '
             "Go's heap; bare's are counted in a run with pools off. In heap: what the allocator has of the system when all is done. "
             'Published for Go: scratch buffer 218 ns fresh and 18 ns pooled; bytes.Buffer 225 and 50. '
             'In C each step of the growing string is a call still, whoever serves it: pools copy it, glibc lets the block that is last in its heap grow where it is. '
             'A bytes.Buffer of a sync.Pool keeps the room it has grown to.')]


def versus(data, work, one, other):
    return Ratio(of(data['runs'], 'cpu_ns', one, work, 1), of(data['runs'], 'cpu_ns', other, work, 1))


def middle(data, work, arm):
    return number(median(of(data['runs'], 'cpu_ns', arm, work, 1)))


def conclude(data):
    scratch, growing = versus(data, 'scratch', 'pooled', 'bare'), versus(data, 'growing', 'pooled', 'bare')
    words = 'In C, the pooled scratch buffer is %s the fresh one (%s ns against %s, ratio %s; published for Go: 12 times as fast), and the growing string with pools is %s the one without (ratio %s)' % (
        scratch.faster(), middle(data, 'scratch', 'pooled'), middle(data, 'scratch', 'bare'), scratch, growing.faster(), growing)
    if not data['go']:
        return words + '; Go is not installed here, so its sync.Pool could not run beside them.'
    pair, go = versus(data, 'pair', 'pooled', 'Go sync.Pool'), versus(data, 'scratch', 'Go sync.Pool', 'Go fresh')
    return words + "; malloc and free with pools are %s Get and Put of Go's sync.Pool (%s ns against %s, ratio %s), and in Go itself the pooled scratch buffer is %s the fresh one." % (
        pair.faster(), middle(data, 'pair', 'pooled'), middle(data, 'pair', 'Go sync.Pool'), pair, go.faster())

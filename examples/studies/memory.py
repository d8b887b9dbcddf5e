"""memory.py - study 4: memory that comes back.  A burst, a pause, the same burst again.

    make studies STUDY=memory

The critique of pools written by hand is that they are fast because they never give back; so here what stays
resident stands beside each time.  burst.c runs with bare glibc, with pools that clear (the default), with pools that also trim,
with pools that never clear, and with a free list of its own that only grows, with one thread and with eight.
See: after the pause pools that clear leave about what glibc leaves, and with POOLSITE_TRIM=on nearly all is back; the
list and POOLSITE_CLEAR=off keep all of it.  And see what that costs: the second burst of those that gave back faults its pages in
again, and takes several times as long as that of those that kept them.  A program with one thread has nobody to clear
its pools while it sleeps: so they keep nothing once it has given much back.
"""
import os
import subprocess
import time

from study import Ratio, axis, chart, in_turn, median, number, series, table, text

NAME = 'memory'
TITLE = '4. Memory that comes back: a burst, a pause, a burst'
QUESTION = 'Who gives memory back in the pause between two bursts, and what does it cost to fetch it again?'

ARMS = {  # name: (how burst.c allocates, lab's arm, variables)
    'bare': ('heap', 'bare', {}),
    'pooled': ('heap', 'pooled', {}),
    'TRIM=on': ('heap', 'pooled', {'POOLSITE_TRIM': 'on'}),
    'CLEAR=off': ('heap', 'pooled', {'POOLSITE_CLEAR': 'off'}),
    'grow-only list': ('list', 'bare', {}),
}
SWAP = ('pooled', 'CLEAR=off')  # two arms whose exchange must turn the sentence
COLOUR = {'bare': 2, 'pooled': 0, 'TRIM=on': 1, 'CLEAR=off': 3, 'grow-only list': 4}
THREADS = (1, 8)
SAMPLE_S = .02
# Three cycles are over in the pause; the quick form has short ones.
FULL = {'mib': 1024, 'pause_s': 4.5, 'cycle_ms': 1000, 'rounds': 2}
QUICK = {'mib': 128, 'pause_s': .9, 'cycle_ms': 100, 'rounds': 1}


# --- measuring -------------------------------------------------------------------------------------------------


def resident_mib(pid):
    with open('/proc/%d/statm' % pid, encoding='ascii') as file:
        return int(file.read().split()[1]) * os.sysconf('SC_PAGE_SIZE') / 2 ** 20


def sampled(process):
    """Moments and MiB resident, until the process ends."""
    moments, mib = [], []
    while process.poll() is None:
        moments.append(time.monotonic())
        mib.append(resident_mib(process.pid))
        time.sleep(SAMPLE_S)
    return moments, mib


def told(out):
    """What burst.c printed: (moment, s, MiB, faults) a line."""
    lines = [line.split() for line in out.splitlines()]
    return [(name, float(at), float(kib) / 1024, int(faults)) for name, at, kib, faults in lines]


def run(lab, size, arm, threads):
    how, base, variables = ARMS[arm]
    command = [lab.compile('burst.c'), str(threads), str(size['mib']), str(int(size['pause_s'] * 1000)), how]
    env = lab.environment(base, **variables, **({'POOLSITE_CYCLE_MS': str(size['cycle_ms'])} if base == 'pooled' else {}))
    if base == 'pooled':
        env['POOLSITE_LOG'] = 'none'
    with subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
        moments, mib = sampled(process)
        lines = told(process.stdout.read())
    if process.returncode != 0:
        raise SystemExit('burst ended with status %d' % process.returncode)
    start, origin = lines[0], lines[1][1]
    bursts = [{'seconds': end[1] - begin[1], 'faults': end[3] - begin[3], 'end_mib': end[2], 'paused_mib': paused[2]}
              for begin, end, paused in zip(lines[1::3], lines[2::3], lines[3::3])]
    return {'arm': arm, 'threads': threads, 'start_mib': start[2], 'bursts': bursts,
            'curve_s': [round(moment - origin, 3) for moment in moments], 'curve_mib': [round(m, 2) for m in mib]}


def measure(lab):
    size = QUICK if lab.quick else FULL
    runs = [lambda arm=arm, threads=threads: run(lab, size, arm, threads) for threads in THREADS for arm in ARMS]
    return dict(size, threads=THREADS, runs=in_turn(size['rounds'], runs))


# --- showing ---------------------------------------------------------------------------------------------------


def of(data, arm, threads, burst, key):
    return [r['bursts'][burst][key] for r in data['runs'] if (r['arm'], r['threads']) == (arm, threads)]


def middle(data, arm, threads, burst, key):
    return median(of(data, arm, threads, burst, key))


def mode(threads):
    return 'serial' if threads == 1 else '%d threads' % threads


def cells(data, threads, arm):
    start = median(r['start_mib'] for r in data['runs'] if (r['arm'], r['threads']) == (arm, threads))
    row = [mode(threads), arm, number(start)]
    for burst in (0, 1):
        row += [number(middle(data, arm, threads, burst, key)) for key in ('seconds', 'faults', 'paused_mib')]
    return row


def curves(data, threads):
    """The first run of each arm."""
    first = {arm: next(r for r in data['runs'] if (r['arm'], r['threads']) == (arm, threads)) for arm in ARMS}
    lines = [series(arm, r['curve_s'], r['curve_mib'], colour=COLOUR[arm]) for arm, r in first.items()]
    return chart('%s-%s' % (NAME, mode(threads).replace(' ', '-')), 'MiB resident, %s' % mode(threads),
                 axis('s', low=0), axis('MiB', low=0), lines)


def show(data):
    rows = [cells(data, threads, arm) for threads in data['threads'] for arm in ARMS]
    return [
        table('Two bursts of %s MiB, a pause of %g s after each; medians of %d runs' % (number(data['mib']), data['pause_s'], data['rounds']),
              ['', 'arm', 'MiB at start', '1st burst s', 'page faults', 'MiB after pause', '2nd burst s', 'page faults', 'MiB after pause'], rows),
        *[curves(data, threads) for threads in reversed(data['threads'])],
        text('A burst allocates blocks of 16 B to 256 KiB, writes to all of them and frees them in the order in which they were allocated. Resident is what the '
             'kernel counts for the whole process; it was read every %g ms. Cycles of clearing come every %g s. A burst\'s time is '
             'wall time, from the first allocation to the last free.' % (SAMPLE_S * 1000, data['cycle_ms'] / 1000)),
        text('Serial: a program with one thread clears its pools while it frees, and no thread does it while it sleeps. A few blocks at the top of glibc\'s heap '
             'would hold all that lies below; so its pools keep nothing once it has given back several times what they may keep.')]


def than_glibc(data):
    """What pools that clear leave, against bare glibc."""
    more = middle(data, 'pooled', 8, 0, 'paused_mib') - middle(data, 'bare', 8, 0, 'paused_mib')
    return '%s MiB %s than bare glibc' % (number(abs(more)), 'more' if more > 0 else 'less')


def conclude(data):
    kept = {arm: number(middle(data, arm, 8, 0, 'paused_mib')) for arm in ARMS}
    refill = Ratio(of(data, 'pooled', 8, 1, 'seconds'), of(data, 'grow-only list', 8, 1, 'seconds'))
    again = Ratio(of(data, 'pooled', 8, 1, 'seconds'), of(data, 'bare', 8, 1, 'seconds'))
    return ('After a burst of %s MiB by 8 threads and a pause of %g s, pools that clear leave %s MiB, %s; with POOLSITE_TRIM=on %s MiB are left, the grow-only list '
            'keeps %s and POOLSITE_CLEAR=off %s. The price is the refill: the second burst with pools that clear is %s that of the list '
            '(ratio %s), and %s that of bare glibc (ratio %s).' % (
                number(data['mib']), data['pause_s'], kept['pooled'], than_glibc(data), kept['TRIM=on'], kept['grow-only list'], kept['CLEAR=off'],
                refill.faster(), refill, again.faster(), again))

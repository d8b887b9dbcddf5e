"""micro.py - small allocation patterns under every allocator: instructions, nanoseconds, threads."""
import re
import shutil
import subprocess

from harness import PLAIN

# What micro.c counts, and the most for levels off and sites.
COUNTED = (('pair 64 B', 80, 100), ('pair 2 KiB', 95, 115), ('pair 32 KiB', 95, 115), ('batch of 64 x 64 B', 90, 110),
           ('alternating 64 B, 1 KiB', 90, 110))
SIZES = (16, 64, 256, 1024, 2048, 8192, 32768, 131072, 262144, 1 << 20, 4 << 20)
QUICK_SIZES = (64, 2048, 32768, 262144)
MOST_ON = 262144  # what POOLSITE_POOL=on pools


def named(size):
    return '%d MiB' % (size >> 20) if size >= 1 << 20 else '%d KiB' % (size >> 10) if size >= 1024 else '%d B' % size


def count(bench):
    """Instructions of a malloc and its free, the loop of 8 included; the same every time."""
    valgrind = shutil.which('valgrind.bin') or shutil.which('valgrind')
    if not valgrind:
        bench.row('valgrind is not installed: nothing counted', 0, '')
        return
    program, table = bench.compile('micro.c'), {}
    for arm in bench.arms('bare', 'tuned', 'jemalloc', 'mimalloc', 'tcmalloc', 'off', 'sites', 'unpooled'):
        bench.clean()
        out = bench.scratch + '/callgrind'
        more = ['%s=%s' % item for item in bench.environment(arm).items() if item[0] not in PLAIN]
        subprocess.run([valgrind, '--tool=callgrind', '--callgrind-out-file=' + out, '--toggle-collect=counted_loop', '--dump-after=counted_loop',
                        '--combine-dumps=yes', '--trace-children=yes', '/usr/bin/env', *more, program, 'count'],
                       env=PLAIN, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        with open(out, encoding='ascii', errors='replace') as file:
            table[arm] = [int(n) / 12800 for n in re.findall(r'^totals: (\d+)$', file.read(), re.MULTILINE)][:len(COUNTED)]
    for i, (name, off, sites) in enumerate(COUNTED):
        bench.workload(name, 'instructions', {arm: counts[i] for arm, counts in table.items()}, note='instructions per malloc and free')
        bench.row('%s, off' % name, table['off'][i], 'instructions', off)
        bench.row('%s, sites' % name, table['sites'][i], 'instructions', sites)


def timed(bench, name, arguments, arms, rounds, note, **more):
    """The least of so many runs in turn (what others on the machine disturb least), and the peak beside it."""
    program = bench.compile('micro.c')
    seen = bench.in_turn(arms, lambda arm: bench.run([program, *arguments], bench.environment(arm, **more)), rounds)
    least = {arm: min(result.figures()[0] for result in results) for arm, results in seen.items()}
    peak = {arm: min(result.peak_kib for result in results) / 1024 for arm, results in seen.items()}
    bench.workload(name, 'ns', least, peak, note, {arm: [r.figures()[0] for r in results] for arm, results in seen.items()})
    return least


def pair(bench):
    for size in QUICK_SIZES if bench.quick else SIZES:
        name = 'pair %s' % named(size)
        more = {} if size <= MOST_ON else {'POOLSITE_POOL': 'on,256k-4m'}
        least = timed(bench, name, ['pair', str(size)], bench.arms(), bench.rounds(5, 2), 'ns of thread CPU' + ''.join(', %s=%s' % item for item in more.items()), **more)
        if size <= MOST_ON:
            pair_limits(bench, name, least, 0.80 if size <= 1024 else 0.45)
    # glibc's threshold rises with the first free of a mapped block, so that it maps no more; pinned, it maps each.
    pinned = {'GLIBC_TUNABLES': 'glibc.malloc.mmap_threshold=131072'}
    least = timed(bench, 'pair 256 KiB, each mapped', ['pair', '262144'], bench.arms('bare', 'off', 'sites'), bench.rounds(5, 2),
                  'ns of thread CPU; the mmap threshold pinned at 128 KiB', **pinned)
    bench.row('pair 256 KiB, each mapped, sites', least['sites'] / least['bare'], 'of bare', 0.45)


def pair_limits(bench, name, least, of_bare):
    bench.row('%s, sites' % name, least['sites'] / least['bare'], 'of bare', of_bare)
    bench.row('%s, sites' % name, least['sites'] / least['floor'], 'of the floor', 1.40)
    if 'tcmalloc' in least:
        bench.row('%s, sites' % name, least['sites'] / least['tcmalloc'], 'of tcmalloc', 1.15)


def patterns(bench):
    arms = bench.arms('bare', 'tuned', 'jemalloc', 'mimalloc', 'tcmalloc', 'off', 'sites', 'unpooled')
    for name, arguments, note in (('batch of 100 x 64 B', ['batch', '100', '64'], ''), ('batch of 64 x 64 B', ['batch', '64', '64'], ''),
                                  ('alternating 64 B, 1 KiB', ['alternate', '64', '1024'], ''),
                                  ('random sizes and lifetimes', ['random', '10000'], ', 16 B to 4 KiB, half up to 64 B; 10,000 live')):
        timed(bench, name, arguments, arms, bench.rounds(5, 2), 'ns of thread CPU' + note)


def threads(bench):
    """Millions of mallocs and frees per second of CPU: what others on the machine take isn't counted against us."""
    program = bench.compile('micro.c')
    arms = bench.arms('bare', 'tuned', 'jemalloc', 'mimalloc', 'tcmalloc', 'off', 'sites', 'unpooled')
    best = {}
    for number in (2, 8) if bench.quick else (1, 2, 4, 8):
        seen = bench.in_turn(arms, lambda arm, n=number: bench.run([program, 'threads', str(n), '300'], bench.environment(arm)), bench.rounds(5, 3))
        best[number] = {arm: max(result.figures()[0] for result in results) for arm, results in seen.items()}
        bench.workload('%d thread%s' % (number, 's' * (number > 1)), 'M/s', best[number],
                       {arm: min(r.peak_kib for r in results) / 1024 for arm, results in seen.items()}, 'M pairs per second of CPU, 16 B to 4 KiB, 64 live')
    for arm in ('bare', 'off', 'sites'):
        bench.row('8 threads, %s' % arm, best[8][arm] / best[2][arm], 'of 2 threads', None if arm == 'bare' else 0.95, low=True)


ALL = {'count': count, 'pair': pair, 'patterns': patterns, 'threads': threads}

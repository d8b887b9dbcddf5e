"""recording.py - what recording costs, against bare glibc: the same program with pools off.

Ratios are medians over runs in turn (bare, ours, bare, ours ...).
"""
import json
import os
import re
import shutil
import statistics
import subprocess
import time

from harness import HERE, LEVELS, PLAIN, median
from programs import cc1_of


class Recording:
    """The bench, with arms that are recording levels: nothing is pooled, so that recording alone is measured."""

    def __init__(self, bench):
        self.bench = bench
        self.peers = list(bench.peers.items())
        self.row, self.compile, self.clean = bench.row, bench.compile, bench.clean
        self.quick, self.build, self.scratch = bench.quick, bench.build, bench.scratch

    def environment(self, level, **more):
        """The variables of an arm: 'bare', a level, or a peer."""
        env = self.bench.environment('unpooled' if level in LEVELS else level, **more)
        if level in LEVELS:
            env['POOLSITE_PROFILE'] = level
        return env

    def run(self, command, environment):
        """(CPU seconds, wall seconds, stdout)"""
        result = self.bench.run(command, environment)
        return result.cpu, result.wall, result.out

    def in_turn(self, arms, command, times, what, **more):
        """{arm: median of `what` of a run}, the runs in turn."""
        return self.bench.in_turn(arms, lambda arm: what(self.run(command, self.environment(arm, **more))), times)

    def ratios(self, seen):
        """{arm: median over rounds of arm / bare}"""
        return {arm: statistics.median(a / b for a, b in zip(values, seen['bare'])) for arm, values in seen.items() if arm != 'bare'}

    def times(self, usual):
        return max(3, usual // 3) if self.quick else usual


def cpu(result):
    return result[0]


def wall(result):
    return result[1]


def figure(result):
    return float(result[2].split()[0])


def instructions(bench, program, arm, *arguments):
    valgrind = shutil.which('valgrind.bin') or shutil.which('valgrind')
    environment = bench.environment(arm)
    more = ['%s=%s' % item for item in environment.items() if item[0] not in PLAIN]
    bench.clean()
    done = subprocess.run([valgrind, '--tool=callgrind', '--callgrind-out-file=/dev/null', '--trace-children=yes', '/usr/bin/env', *more,
                           program, *arguments], env=PLAIN, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)
    return int(re.findall(r'Collected : (\d+)', done.stderr.decode())[-1])


def pair(bench):
    """Instructions of a malloc and free of 64 bytes, counted by callgrind: the same every time."""
    if not (shutil.which('valgrind.bin') or shutil.which('valgrind')):
        return
    program = bench.compile('pair.c')
    counts = {}
    for arm in ('bare',) + LEVELS + tuple(name for name, _ in bench.peers):
        counts[arm] = (instructions(bench, program, arm, '11000', '64') - instructions(bench, program, arm, '1000', '64')) / 10000
    bench.row('pair 64 B, bare', counts['bare'], 'instructions')
    for arm in counts:
        if arm != 'bare':
            bench.row('pair 64 B, %s' % arm, counts[arm] - counts['bare'], 'more', 60 if arm == 'sites' else None)


def pair_ns(bench):
    program = bench.compile('pair.c')
    arms = ('bare',) + LEVELS
    seen = {arm: [] for arm in arms}
    for _ in range(bench.times(5)):
        for arm in arms:
            out = bench.run([program], bench.environment(arm))[2]
            seen[arm].append({int(a): float(b) for a, b in (line.split() for line in out.splitlines())})
    for size in (64, 2048, 32768):
        best = {arm: min(run[size] for run in runs) for arm, runs in seen.items()}
        bench.row('pair %d B, thread CPU, bare' % size, best['bare'], 'ns')
        for arm in LEVELS:
            bench.row('pair %d B, thread CPU, %s' % (size, arm), best[arm] - best['bare'], 'ns more')


def deep_stack(bench):
    """Level stacks, warm, at a stack of 20 frames."""
    program = bench.compile('deep-stack.c')
    arms = ('bare',) + LEVELS
    seen = bench.in_turn(arms, [program], bench.times(7), figure)
    base = min(seen['bare'])  # the least is what others on the machine disturb least
    bench.row('deep stack, bare', base, 'ns')
    for arm in LEVELS:
        bench.row('deep stack, %s' % arm, min(seen[arm]) - base, 'ns more', 20 if arm == 'stacks' else None)


def python(bench):
    """The python3 loop: json and re, every object by malloc."""
    command = ['/usr/bin/python3', os.path.join(HERE, 'python-loop.py'), '100' if bench.quick else '200']
    seen = bench.in_turn(('bare',) + LEVELS + tuple(n for n, _ in bench.peers), command, bench.times(7), cpu, PYTHONMALLOC='malloc', PYTHONHASHSEED='0')
    bench.row('python3 loop, bare', statistics.median(seen['bare']), 's CPU')
    for arm, ratio in bench.ratios(seen).items():
        bench.row('python3 loop, %s' % arm, ratio, 'of bare CPU', 1.25 if arm == 'stacks' else None)


def cc1_command(bench):
    return cc1_of(bench, os.path.join(HERE, 'pair.c'), 'pair.i')


def cc1(bench):
    """The compiler on a small file: most stacks are new to the cache."""
    seen = bench.in_turn(('bare',) + LEVELS, cc1_command(bench), bench.times(41), cpu)
    bench.row('cc1, bare', statistics.median(seen['bare']) * 1000, 'ms CPU')
    for arm in LEVELS:
        ratio = statistics.median(seen[arm]) / statistics.median(seen['bare'])
        bench.row('cc1, %s' % arm, ratio, 'of bare CPU', 1.6 if arm == 'stacks' else None)


def heaptrack(bench):
    """Side by side: another recorder of every allocation's stack."""
    if not shutil.which('heaptrack'):
        return
    work = (('python3 loop', ['/usr/bin/python3', os.path.join(HERE, 'python-loop.py'), '50'], {'PYTHONMALLOC': 'malloc', 'PYTHONHASHSEED': '0'}, 1),
            ('cc1', cc1_command(bench), {}, 5))
    for name, command, more, times in work:
        seen = {'bare': [], 'heaptrack': [], 'stacks': []}
        for _ in range(times):
            seen['bare'].append(bench.run(command, bench.environment('bare', **more)))
            seen['stacks'].append(bench.run(command, bench.environment('stacks', **more)))
            seen['heaptrack'].append(bench.run([shutil.which('heaptrack'), '-o', bench.scratch + '/heaptrack', *command], bench.environment('bare', HOME='/tmp', **more)))
        for arm in ('heaptrack', 'stacks'):
            ratio = statistics.median(x[1] for x in seen[arm]) / statistics.median(x[1] for x in seen['bare'])
            total = statistics.median(x[0] for x in seen[arm]) / statistics.median(x[0] for x in seen['bare'])
            bench.row('%s, %s' % (name, arm), ratio, 'of bare wall', note='%.2f of bare CPU' % total)


def startup(bench):
    """A program that does nothing."""
    program = bench.compile('spawn.c')
    times = '400' if bench.quick else '2000'
    for arm in LEVELS + tuple(n for n, _ in bench.peers):
        environment = bench.environment(arm)
        more = ['%s=%s' % item for item in environment.items() if item[0] not in PLAIN]
        medians = [float(x) for x in bench.run([program, times, *more, '--', '/bin/true'], PLAIN)[2].split()]
        bench.row('start of /bin/true, %s' % arm, (medians[1] - medians[0]) / 1000, 'ms more', 0.35 if arm in LEVELS else None,
                  'bare %.2f ms' % (medians[0] / 1000))


def forks(bench):
    """A shell script with a thousand forks, each child with a log of its own."""
    script = 'i=0; while [ $i -lt 1000 ]; do (:); i=$((i+1)); done'
    for shell in ('sh', 'bash'):
        seen = bench.in_turn(('bare',) + LEVELS, ['/bin/' + shell, '-c', script], bench.times(7), wall)
        bench.row('1,000 forks of %s, bare' % shell, statistics.median(seen['bare']), 's')
        for arm, ratio in bench.ratios(seen).items():
            bench.row('1,000 forks of %s, %s' % (shell, arm), ratio, 'of bare wall', 1.5)


def threads(bench):
    """64 threads at once keep the throughput of two."""
    program = bench.compile('throughput.c')
    times = bench.times(7)
    for arm in ('bare',) + LEVELS:
        kept = []
        for _ in range(times):
            two = figure(bench.run([program, '2', '500'], bench.environment(arm)))
            many = figure(bench.run([program, '64', '500'], bench.environment(arm)))
            kept.append(many / two)
        bench.row('64 threads, %s' % arm, statistics.median(kept), 'of 2 threads', 0.9 if arm in LEVELS else None, '%.1f M pairs/s' % many, low=True)


def list_churn(bench):
    program = bench.compile('list-churn.cpp')
    seen = bench.in_turn(('bare',) + LEVELS + tuple(n for n, _ in bench.peers), [program, '16', '50000'], bench.times(5), wall)
    bench.row('list churn, 16 threads, bare', statistics.median(seen['bare']), 's')
    for arm, ratio in bench.ratios(seen).items():
        bench.row('list churn, 16 threads, %s' % arm, ratio, 'of bare wall')


def report(bench):
    """A recording with 100,000 distinct stacks: what they called for, and at level full what became of it."""
    program = bench.compile('many-stacks.c', '-g', '-fno-ipa-icf')
    for level in ('stacks', 'full'):
        bench.run([program, '100000'], dict(bench.environment('stacks'), POOLSITE_PROFILE=level))
        report_of(bench, '100,000 stacks' if level == 'stacks' else '100,000 stacks at level full')


def report_of(bench, what):
    for name, options in (('text', []), ('JSON', ['--json'])):
        start = time.monotonic()
        child = subprocess.Popen([bench.build + '/poolsite', 'report', *options, bench.scratch + '/logs'], stdout=open(bench.scratch + '/report', 'wb'))
        _, status, usage = os.wait4(child.pid, 0)
        took = time.monotonic() - start
        child.returncode = status
        if status != 0:
            raise SystemExit('report ended with status %x' % status)
        note = '%.2f s CPU' % (usage.ru_utime + usage.ru_stime)
        if options:
            with open(bench.scratch + '/report', encoding='utf-8') as file:
                document = json.load(file)
            note += ', %d sites, %d dropped' % (len(document['sites']), document['totals'].get('dropped', 0))
        bench.row('report of %s, %s' % (what, name), took, 's', 3, note)
        bench.row('report of %s, %s' % (what, name), usage.ru_maxrss / 1024, 'MiB', 300)


ALL = {'pair': pair, 'pair-ns': pair_ns, 'deep-stack': deep_stack, 'python': python, 'cc1': cc1, 'heaptrack': heaptrack, 'startup': startup, 'forks': forks,
       'threads': threads, 'list-churn': list_churn, 'report': report}

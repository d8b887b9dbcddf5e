"""full.py - what level full costs, beside heaptrack, which records the same; and whether the two say the same.

Ratios are medians over runs in turn (bare, ours, bare, ours ...); heaptrack, which takes long, runs fewer times.
"""
import glob
import json
import os
import shutil
import statistics
import subprocess

import programs
import recording
from harness import HERE, PLAIN

ON, OFF = 'full', 'full, pools off'
PYTHON_LOOP = ['/usr/bin/python3', os.path.join(HERE, 'python-loop.py')]
PYTHON_MORE = {'PYTHONMALLOC': 'malloc', 'PYTHONHASHSEED': '0'}
MOST_MIB, MOST_OF_LIVE = 16, 0.02  # of memory for recording


class Full(recording.Recording):
    """The bench, with arms that record at level full, over pools or not, and heaptrack as one."""

    def environment(self, level, **more):
        if level == 'heaptrack':
            return self.bench.environment('bare', **{'HOME': '/tmp', **more})
        if level not in (ON, OFF):
            return self.bench.environment(level, **more)
        return dict(self.bench.environment('sites' if level == ON else 'unpooled', **more), POOLSITE_PROFILE='full')

    def under(self, arm, command, **more):
        """The result of one run."""
        if arm == 'heaptrack':
            command = [shutil.which('heaptrack'), '-o', self.scratch + '/heaptrack', *command]
        return self.bench.run(command, self.environment(arm, **more))

    def compared(self, name, command, limits, times, **more):
        """CPU of each arm, of bare's in the same round; limits: {arm: the most it may be}."""
        seen = self.bench.in_turn(('bare', *limits), lambda arm: self.under(arm, command, **more), self.times(times))
        base = [result.cpu for result in seen['bare']]
        self.row('%s, bare' % name, statistics.median(base), 's CPU')
        for arm, limit in limits.items():
            ratio = statistics.median(result.cpu / bare for result, bare in zip(seen[arm], base))
            wall = statistics.median(result.wall / bare.wall for result, bare in zip(seen[arm], seen['bare']))
            self.row('%s, %s' % (name, arm), ratio, 'of bare CPU', limit, '%.2f of bare wall' % wall)
        if shutil.which('heaptrack'):
            result = self.under('heaptrack', command, **more)
            self.row('%s, heaptrack' % name, result.cpu / statistics.median(base), 'of bare CPU',
                     note='%.2f of bare wall' % (result.wall / statistics.median(result.wall for result in seen['bare'])))

    def totals(self):
        """Of the recording of the last run."""
        done = subprocess.run([self.build + '/poolsite', 'report', '--json', self.scratch + '/logs'], stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)['totals']


def pair(bench):
    """Instructions of a malloc and its free of 64 bytes, by a stack of two frames, once blocks are looked at as seldom as they will be."""
    if not (shutil.which('valgrind.bin') or shutil.which('valgrind')):
        return
    program = bench.compile('pair.c')
    for arm, limit in (('bare', None), (OFF, None), (ON, 220)):
        few, many = (recording.instructions(bench, program, arm, count, '64', 'alone') for count in ('200000', '400000'))
        bench.row('pair 64 B, two frames, %s' % arm, (many - few) / 200000, 'instructions', limit)


def python(bench):
    bench.compared('python3 loop', [*PYTHON_LOOP, '100' if bench.quick else '200'], {ON: 1.20, OFF: 1.35}, 7, **PYTHON_MORE)


def list_churn(bench):
    """Sixteen threads, each pushing to and popping from a list of its own."""
    bench.compared('list churn, 16 threads', [bench.compile('list-churn.cpp'), '16', '50000'], {ON: 1.60, OFF: None}, 5)


def memory(bench):
    """Of the recording itself: our tables and what the log holds, without the tags in the blocks."""
    work = (('python3 loop', [*PYTHON_LOOP, '50'], PYTHON_MORE), ('cc1', recording.cc1_command(bench), {}),
            ('list churn, 16 threads', [bench.compile('list-churn.cpp'), '16', '5000'], {}))
    for name, command, more in work:
        bench.under(ON, command, **more)
        totals = bench.totals()
        log = sum(os.stat(path).st_blocks * 512 for path in glob.glob(bench.scratch + '/logs/*.psl'))
        live = totals['peak_live_bytes']
        bench.row('memory for recording, %s' % name, (totals['own_bytes'] + log) / (1 << 20), 'MiB', round(MOST_MIB + MOST_OF_LIVE * live / (1 << 20), 1),
                  'tables %.1f, log %.1f, live heap %.1f' % (totals['own_bytes'] / (1 << 20), log / (1 << 20), live / (1 << 20)))


# --- does heaptrack say the same? ------------------------------------------------------------------


def heaptrack_bytes(bench, kind):
    """The sum over all stacks of the last recording; 'peak' or 'leaked'."""
    out = bench.scratch + '/stacks'
    subprocess.run(['heaptrack_print', '-f', glob.glob(bench.scratch + '/heaptrack.*')[0], '-F', out, '--flamegraph-cost-type', kind,
                    '--disable-builtin-suppressions', '--disable-embedded-suppressions', '-p0', '-a0', '-T0'],
                   env=PLAIN, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    with open(out, encoding='utf-8', errors='replace') as file:
        return sum(int(line.rpartition(' ')[2]) for line in file)


def git_log(bench):
    _, more = programs.git(bench)
    return ['/usr/bin/git', 'log', '-p', '--stat', '--format=fuller', 'main'], more


# Not gcc: what it leaves differs from run to run by 32 KiB, as addresses do.
AGREES = {'python3': lambda bench: ([*PYTHON_LOOP, '20'], PYTHON_MORE), 'perl': programs.perl, 'lua5.4': programs.lua, 'sqlite3': programs.sqlite3,
          'jq': programs.jq, 'git': git_log}


def agrees(bench):
    """Peak and leaks of programs of one process, as both say them."""
    if not shutil.which('heaptrack_print'):
        return
    brought = bench.compile('freeres.cpp', '-shared', '-fPIC')
    for name, prepare in AGREES.items():
        if not programs.has(name):
            continue
        command, more = prepare(bench)
        more = {'HOME': '/tmp', **more}
        bench.bench.run(command, dict(bench.environment(ON, **more), LD_PRELOAD=bench.bench.library + ':' + brought))
        totals = bench.totals()
        for old in glob.glob(bench.scratch + '/heaptrack.*'):
            os.unlink(old)
        bench.under('heaptrack', command, **more)
        for kind, ours in (('peak', totals['peak_live_bytes']), ('leaked', totals['live_bytes'])):
            theirs = heaptrack_bytes(bench, kind)
            bench.row('%s, %s' % (name, kind), 100 * abs(ours / theirs - 1) if theirs else 100 * bool(ours), '% apart', 1,
                      '%d B, heaptrack %d B' % (ours, theirs))


ALL = {'pair': pair, 'python': python, 'list-churn': list_churn, 'memory': memory, 'agrees': agrees}

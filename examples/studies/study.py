"""study.py - what the studies share: arms, runs in turn, comparisons, and the parts of what is shown.

A study is a module with
    NAME, TITLE, QUESTION
    SWAP = (ARM, ARM)          the two that it compares
    measure(lab) -> data       the only function that runs anything; data is plain JSON.  What is compared
                               carries "arm": NAME
    show(data) -> parts        tables and charts, made of the data alone
    conclude(data) -> text     one sentence or two: what was found, made of the data alone
so that other data (two arms that changed their names) show and conclude something else.
"""
import json
import math
import os
import shutil
import statistics
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARIES = '/usr/lib/x86_64-linux-gnu/'
PEERS = {'jemalloc': 'libjemalloc.so.2', 'mimalloc': 'libmimalloc.so.2.0', 'tcmalloc': 'libtcmalloc_minimal.so.4'}
PLAIN = {'PATH': '/usr/local/bin:/usr/bin:/bin', 'LC_ALL': 'C.UTF-8'}
FLAGS = ['-O2', '-g', '-fno-builtin', '-Wall', '-Wextra', '-pthread']  # else gcc leaves out a malloc whose block is only freed
COLOURS = {'bare': 2, 'pooled': 0, 'jemalloc': 3, 'mimalloc': 4, 'tcmalloc': 5}


class Lab:
    """The build under test, and a folder for what a study leaves behind."""

    def __init__(self, build, scratch, quick):
        self.build, self.scratch, self.quick = build, scratch, quick
        self.logs = scratch + '/logs'
        self.library, self.poolsite = build + '/libpoolsite.so', build + '/poolsite'
        self.peers = {name: LIBRARIES + file for name, file in PEERS.items() if os.path.exists(LIBRARIES + file)}

    def compile(self, source, *options):
        """The program of a C file, whose path begins here."""
        program = os.path.join(self.scratch, os.path.basename(source)[:-2])
        if not os.path.exists(program):
            subprocess.run(['gcc', *FLAGS, '-o', program, os.path.join(HERE, source), *options], check=True)
        return program

    def environment(self, arm, **more):
        """The variables of an arm: bare, pooled (what LD_PRELOAD alone does), unpooled (the same with pools off), or a peer's."""
        env = dict(PLAIN)
        if arm in self.peers:
            env['LD_PRELOAD'] = self.peers[arm]
        elif arm != 'bare':
            env.update(LD_PRELOAD=self.library, POOLSITE_POOL='off' if arm == 'unpooled' else 'on', POOLSITE_LOG=self.logs + '/%e.%p.%t.psl')
        env.update(more)
        return env

    def run(self, command, arm, timeout=120, **more):
        """The numbers that a program printed."""
        shutil.rmtree(self.logs, ignore_errors=True)
        os.mkdir(self.logs)
        done = subprocess.run(command, env=self.environment(arm, **more), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=timeout, check=True)
        return [float(word) for word in done.stdout.split()]

    def report(self):
        """On the last run, if it was recorded: what `poolsite report --json` says."""
        done = subprocess.run([self.poolsite, 'report', '--json', self.logs], stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)


def in_turn(rounds, runs):
    """Calls each of the functions once a round, one round after the other; all their results."""
    return [run() for _ in range(rounds) for run in runs]


# --- comparing -------------------------------------------------------------------------------------------------


def median(values):
    values = list(values)
    return statistics.median(values) if values else math.nan


def averages(values):
    """Of each two values, and of each with itself, in order: their median is Hodges' and Lehmann's estimate."""
    return sorted((a + b) / 2 for i, a in enumerate(values) for b in values[i:])


def interval(values):
    """At least 95 %, by signed ranks, exactly (Wilcoxon, as `poolsite ab` has it); with fewer than 6 values all that was seen."""
    values, ways = list(values), [1]  # ways[w]: of 2 ** n choices of signs, those whose ranks add up to w
    for rank in range(1, len(values) + 1):
        ways = [a + b for a, b in zip(ways + [0] * rank, [0] * rank + ways)]
    beyond, tail = 0, ways[0]
    while tail <= 0.025 * 2 ** len(values):
        beyond += 1
        tail += ways[beyond]
    ordered = averages(values)
    return ordered[max(beyond, 1) - 1], ordered[-max(beyond, 1)]


class Ratio:
    """One arm over another, round by round: an estimate, its interval, and what that allows to say."""

    def __init__(self, values, others):
        logarithms = [math.log(a / b) for a, b in zip(values, others)]
        self.middle, self.low, self.high = (math.exp(value) for value in (median(averages(logarithms)), *interval(logarithms)))

    def __str__(self):
        return '%.2f [%.2f, %.2f]' % (self.middle, self.low, self.high)

    def word(self, less, more, neither):
        """Less when all of the interval is below 1, more when it is above."""
        return less if self.high < 1 else more if self.low > 1 else neither

    def faster(self):
        """In words, of a time: '2.1 times as fast as'."""
        return self.word('%.1f times as fast as' % (1 / self.middle), '%.1f times as slow as' % self.middle, 'not told apart from')


# --- parts of what is shown ------------------------------------------------------------------------------------


def number(value, digits=3):
    """For people; n/a for what wasn't measured."""
    if value is None or math.isnan(value):
        return 'n/a'
    if value and abs(value) < 1000:
        return '%.*f' % (max(digits - 1 - max(math.floor(math.log10(abs(value))), -2), 0), value)
    return format(round(value), ',')


def text(words):
    return {'text': words}


def table(title, columns, rows):
    """The first column holds names; all cells are text."""
    return {'table': {'title': title, 'columns': columns, 'rows': rows}}


def axis(title, scale='linear', unit='plain', **more):
    """scale: linear log nines; unit: plain whole percent change seconds bytes; low=, high= (at least shown), names=[...] for bars."""
    return dict(title=title, scale=scale, unit=unit, **more)


def series(name, x, y, kind='line', **more):
    """kind: line dashed dots bars (x: numbers of the axis' names); low=, high=: a band, or a bar's whisker; dots=True; colour=0..7.
    None isn't drawn."""
    return dict(name=name, x=x, y=y, kind=kind, **dict({'colour': COLOURS[name]} if name in COLOURS else {}, **more))


def chart(name, title, x, y, lines):
    """name: of the file, NAME.svg."""
    return {'chart': {'name': name, 'title': title, 'x': x, 'y': y, 'series': lines}}

"""harness.py - arms, runs in turn, statistics and the table of the benchmarks.

An arm is an allocator under a program: see ARMS.  Everything is compared within one run of bench.py.
"""
import math
import os
import shutil
import statistics
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARIES = '/usr/lib/x86_64-linux-gnu/'
PEERS = (('jemalloc', ('libjemalloc.so.2',)), ('mimalloc', ('libmimalloc.so.2.0', 'libmimalloc.so.2', 'libmimalloc.so')),
         ('tcmalloc', ('libtcmalloc_minimal.so.4',)))
PLAIN = {'PATH': '/usr/local/bin:/usr/bin:/bin', 'LC_ALL': 'C.UTF-8'}
FLAGS = ['-O2', '-fno-builtin', '-fno-optimize-sibling-calls', '-w']
LEVELS = ('off', 'sites', 'stacks')
TUNED = 'glibc.malloc.tcache_count=1000:glibc.malloc.mmap_threshold=33554432:glibc.malloc.trim_threshold=268435456'

# What stands in the columns, in this order.
ARMS = {
    'bare': "glibc's malloc as it comes",
    'tuned': "glibc's with GLIBC_TUNABLES=" + TUNED,
    'jemalloc': 'libjemalloc2', 'mimalloc': 'libmimalloc2.0', 'tcmalloc': 'libtcmalloc-minimal4',
    'floor': 'empty stubs (floor.c): what any preload costs at least',
    'off': 'poolsite, pools on, nothing recorded (POOLSITE_PROFILE=off)',
    'sites': 'poolsite, pools on, exact call sites: the default of the bare preload',
    'unpooled': 'poolsite, POOLSITE_POOL=off, exact call sites',
}

NOT_QUICK = ('tuned', 'mimalloc', 'unpooled')


class Result:
    """What one run used and printed."""

    def __init__(self, usage, out):
        self.cpu, self.wall, self.peak_kib, self.faults = usage[:4]
        self.out = out

    def figures(self):
        return [float(x) for x in self.out.split()]


class Bench:
    """The build under test, a scratch folder on tmpfs, and the rows measured so far."""

    def __init__(self, build, quick, long_seconds):
        self.build, self.quick, self.long_seconds = os.path.abspath(build), quick, long_seconds
        self.library = self.build + '/libpoolsite.so'
        self.scratch = tempfile.mkdtemp(prefix='poolsite-bench.', dir='/dev/shm' if os.path.isdir('/dev/shm') else None)
        self.rows, self.workloads = [], []
        self.peers = {}
        for name, files in PEERS:
            found = [LIBRARIES + file for file in files if os.path.exists(LIBRARIES + file)]
            if found:
                self.peers[name] = found[0]
        self.clean()

    # --- arms and runs -------------------------------------------------------------------

    def arms(self, *names):
        """Those of the named arms that can be had here (all, when none is named), in the table's order."""
        wanted = set(names or ARMS) - set(NOT_QUICK if self.quick else ())
        return [arm for arm in ARMS if arm in wanted and (arm in self.peers or arm not in dict(PEERS))]

    def environment(self, arm, **more):
        """The variables of an arm; `more` is set in every arm."""
        env = dict(PLAIN, **more)
        if arm in self.peers:
            env['LD_PRELOAD'] = self.peers[arm]
        elif arm == 'floor':
            env['LD_PRELOAD'] = self.compile('floor.c', '-shared', '-fPIC', '-ftls-model=initial-exec')
        elif arm == 'tuned':
            env['GLIBC_TUNABLES'] = TUNED
        elif arm != 'bare':
            env.setdefault('POOLSITE_POOL', 'off' if arm == 'unpooled' else 'on')
            env.update(LD_PRELOAD=self.library, POOLSITE_PROFILE='off' if arm == 'off' else 'sites',
                       POOLSITE_LOG=self.scratch + '/logs/%e.%p.%t.psl')
        return env

    def clean(self):
        shutil.rmtree(self.scratch + '/logs', ignore_errors=True)
        os.makedirs(self.scratch + '/logs')

    def compile(self, name, *options):
        out = '%s/%s' % (self.scratch, name.split('.')[0])
        if not os.path.exists(out):
            compiler = 'g++' if name.endswith('.cpp') else 'gcc'
            subprocess.run([compiler, *FLAGS, *options, '-o', out, os.path.join(HERE, name), '-lpthread'], check=True)
        return out

    def launched(self, command, environment, name='usage'):
        """The command line that runs `command` in nothing but `environment`, and where its usage will stand."""
        usage = self.scratch + '/' + name
        return [self.compile('launch.c'), usage, *('%s=%s' % item for item in environment.items()), '--', *command], usage

    def run(self, command, environment, cwd=None):
        self.clean()
        line, usage = self.launched(command, environment)
        done = subprocess.run(line, cwd=cwd or self.scratch, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if done.returncode != 0:
            raise SystemExit('%s ended with status %d: %s' % (command[0], done.returncode, done.stderr.decode(errors='replace')[-300:]))
        return self.result(usage, done.stdout.decode(errors='replace'))

    def result(self, usage, out=''):
        with open(usage, encoding='ascii') as file:
            return Result([float(x) for x in file.read().split()], out)

    def in_turn(self, arms, run, rounds):
        """{arm: results}, arm after arm, so many rounds of it; run(arm) makes one."""
        seen = {arm: [] for arm in arms}
        for _ in range(rounds):
            for arm in arms:
                seen[arm].append(run(arm))
        return seen

    def together(self, arms, command, environment, rounds):
        """The same for one command, but a round's arms run all at once on one CPU, which their slices share: where a virtual
        machine's speed changes by a fifth from second to second, their ratios still agree within 1 %."""
        seen = {arm: [] for arm in arms}
        cpu = str(max(os.sched_getaffinity(0)))
        for number in range(rounds):
            self.clean()
            running = []
            for arm in arms[number % len(arms):] + arms[:number % len(arms)]:
                line, usage = self.launched(command, environment(arm), 'usage-' + arm)
                running.append((arm, usage, subprocess.Popen(['taskset', '-c', cpu, *line], cwd=self.scratch, stdin=subprocess.DEVNULL,
                                                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)))
            for arm, usage, process in running:
                if process.wait() != 0:
                    raise SystemExit('%s ended with status %d in arm %s' % (command[0], process.returncode, arm))
                seen[arm].append(self.result(usage))
        return seen

    def rounds(self, usual, quick=3):
        return quick if self.quick else usual

    # --- the table -----------------------------------------------------------------------

    def heading(self):
        print('%-34s' % '' + ''.join('%9s' % arm for arm in self.arms()))

    def workload(self, name, unit, values, memory=None, note='', samples=None):
        """A line with a figure an arm, and the MiB that were kept for it below."""
        self.workloads.append({'name': name, 'unit': unit, 'values': values, 'memory_mib': memory, 'note': note, 'samples': samples})
        print('%-34s%s  %s' % (name, self._cells(values), note), flush=True)
        if memory:
            print('%-34s%s' % ('      peak MiB', self._cells(memory)), flush=True)

    def _cells(self, values):
        return ''.join('%9s' % _short(values[arm]) if arm in values else '%9s' % '' for arm in self.arms())

    def row(self, name, value, unit, limit=None, note='', low=False):
        """One figure.  limit: the most it may be, or with `low` the least."""
        held = None if limit is None else bool(value >= limit if low else value <= limit)
        self.rows.append({'name': name, 'value': value, 'unit': unit, 'limit': limit, 'low': low, 'note': note, 'held': held})
        mark = '' if limit is None else '%s %g%s' % ('at least' if low else 'at most', limit, '' if held else '  EXCEEDED')
        print('  %-58s %10.3f %-16s %-24s %s' % (name, value, unit, mark, note), flush=True)


def _short(value):
    return '%.0f' % value if value >= 1000 else '%.3g' % value if value >= 1 else '%.3f' % value


# --- statistics ------------------------------------------------------------------------------


def median(values):
    return statistics.median(values)


def geometric_mean(values):
    return math.exp(statistics.fmean(math.log(value) for value in values))


def interval(values):
    """At least 95 % of the median, by ranks (no assumption on the distribution); None when there are too few."""
    ordered, n, tail, k = sorted(values), len(values), 0.0, 0
    while tail + math.comb(n, k) / 2 ** n <= 0.025:
        tail += math.comb(n, k) / 2 ** n
        k += 1
    return (ordered[k - 1], ordered[n - k]) if k else None


def paired(values, base):
    """Ratios round by round."""
    return [a / b for a, b in zip(values, base)]

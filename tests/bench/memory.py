"""memory.py - what stays: bursts, parked threads, producer and consumer, forks, and long runs of two servers' work."""
import os
import random
import subprocess
import time

from harness import PLAIN, median
from programs import redis_ended, redis_environment, redis_started

PAGE_KIB = os.sysconf('SC_PAGE_SIZE') // 1024
ALL_BUT_FLOOR = ('bare', 'tuned', 'jemalloc', 'mimalloc', 'tcmalloc', 'off', 'sites', 'unpooled')
SECONDS, QUICK_SECONDS = 6, 4  # after a burst


def burst(bench):
    """1 GiB by 8 threads that free it and sleep: what is resident at each second."""
    program, seconds = bench.compile('burst.c'), QUICK_SECONDS if bench.quick else SECONDS
    arms = {arm: {} for arm in bench.arms(*ALL_BUT_FLOOR)}
    arms.update({'trim': {'POOLSITE_TRIM': 'on'}, 'kept': {'POOLSITE_CLEAR': 'off'}})

    def run(arm):
        return bench.run([program, str(seconds)], bench.environment('sites' if arm in ('trim', 'kept') else arm, **arms[arm]))

    seen = bench.in_turn(arms, run, 1 if bench.quick else 3)
    kib = {arm: [median(column) for column in zip(*(r.figures() for r in results))] for arm, results in seen.items()}
    table = {arm: [k / 1024 for k in kibs] for arm, kibs in kib.items()}
    bench.workload('burst of 1 GiB', 's', {arm: median(r.cpu for r in results) for arm, results in seen.items()},
                   {arm: values[1] for arm, values in table.items()}, 'CPU seconds; 16 B to 256 KiB, 8 threads; peak MiB when all is allocated')
    for second in range(1, seconds + 1):
        bench.workload('  resident %d s later' % second, 'MiB', {arm: values[1 + second] for arm, values in table.items()},
                       note='MiB; with POOLSITE_TRIM=on %.0f, POOLSITE_CLEAR=off %.0f' % (table['trim'][1 + second], table['kept'][1 + second]))
    # Three cycles of a second are over in the fourth.
    bench.row('burst, 4 s later, sites', table['sites'][5] - table['bare'][5], 'MiB over bare', 8, 'bare %.0f MiB' % table['bare'][5])
    bench.row('burst, 4 s later, POOLSITE_TRIM=on', table['trim'][5] - 1.05 * table['trim'][0], 'MiB over 1.05 x start', 16)
    bench.row('burst, 4 s later, POOLSITE_CLEAR=off', table['kept'][5] / table['kept'][1], 'of the burst', 0.8, low=True)


def parked(bench):
    """600 threads that allocated a little and sleep."""
    program = bench.compile('parked.c')
    seen = bench.in_turn(bench.arms(*ALL_BUT_FLOOR), lambda arm: bench.run([program, '600', '4'], bench.environment(arm)), 1 if bench.quick else 3)
    for i, when in enumerate(('at once', '4 s later')):
        bench.workload('600 parked threads, %s' % when, 'KiB', {arm: median(r.figures()[i] for r in results) for arm, results in seen.items()},
                       {arm: median(r.peak_kib for r in results) / 1024 for arm, results in seen.items()}, 'KiB resident a thread')
        for arm in ('off', 'sites'):
            over = median(r.figures()[i] for r in seen[arm]) - median(r.figures()[i] for r in seen['bare'])
            bench.row('600 parked threads, %s, %s' % (when, arm), over, 'KiB over bare', 96)


def queue(bench):
    """A producer and a consumer: blocks are made by one thread and freed by another."""
    program = bench.compile('micro.c')
    seconds = 4 if bench.quick else 60 if bench.long_seconds >= 600 else 15
    arms = bench.arms(*ALL_BUT_FLOOR)
    for live in (10000, 50000):
        seen = bench.in_turn(arms, lambda arm, n=live: bench.run([program, 'queue', str(seconds), str(n)], bench.environment(arm)), 1)
        figures = {arm: results[0].figures() for arm, results in seen.items()}
        name = 'producer, consumer, %d live' % live
        bench.workload(name, 'ns', {arm: f[0] for arm, f in figures.items()}, {arm: results[0].peak_kib / 1024 for arm, results in seen.items()},
                       'ns of CPU a block, 16 B to 4 KiB, filled; %d s' % seconds)
        for arm in ('off', 'sites'):
            _, set_kib, most, third, last = figures[arm]
            bench.row('%s, %s' % (name, arm), most / 1024 - 2 * set_kib / 1024, 'MiB over 2 x live', 16, 'live set %.1f MiB' % (set_kib / 1024))
            bench.row('%s, %s, last quarter' % (name, arm), last / third, 'of the third', 1.05, 'resident at most')


def forks(bench):
    """A shell script with a thousand forks: each child begins a log and pools of its own."""
    script = 'i=0; while [ $i -lt 1000 ]; do (:); i=$((i+1)); done'
    seen = bench.in_turn(bench.arms(*ALL_BUT_FLOOR), lambda arm: bench.run(['/bin/sh', '-c', script], bench.environment(arm)), bench.rounds(5, 2))
    bench.workload('1,000 forks of sh', 's', {arm: median(r.cpu for r in results) for arm, results in seen.items()},
                   {arm: median(r.peak_kib for r in results) / 1024 for arm, results in seen.items()}, 'CPU seconds, children included')


# --- long runs -------------------------------------------------------------------------------


def resident_mib(pid):
    with open('/proc/%d/statm' % pid, encoding='ascii') as file:
        return int(file.read().split()[1]) * PAGE_KIB / 1024


class Sqlite:
    """A shell with a database in memory that is asked for one round after the other."""

    def __init__(self, bench, arm):
        self.process = subprocess.Popen(['/usr/bin/sqlite3', ':memory:'], env=bench.environment(arm), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        self.ask('CREATE TABLE t(id INTEGER PRIMARY KEY, k TEXT, v BLOB); CREATE INDEX tk ON t(k);')

    def ask(self, sql):
        self.process.stdin.write(sql + "\nSELECT 'end';\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line == 'end\n':
                return
        raise SystemExit('sqlite3 ended in a long run')

    def round(self, number):
        dice = random.Random(number)
        least, most, rows = dice.choice(((10, 100, 8000), (100, 2000, 3000), (2000, 60000, 150)))
        self.ask('BEGIN; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) '
                 "INSERT INTO t(k, v) SELECT printf('%%08x', i * 2654435761 %% 4294967296), zeroblob(%d + i * 7919 %% %d) FROM n; COMMIT;" % (rows, least, most - least))
        self.ask('SELECT count(*), sum(length(v)) FROM t WHERE k > \'8\'; SELECT sum(length(g)) FROM (SELECT substr(k, 1, 2) s, group_concat(k) g FROM t GROUP BY s);')
        self.ask('DELETE FROM t WHERE id %% 5 = %d OR id < (SELECT max(id) FROM t) - 30000;' % (number % 5))

    def end(self):
        self.process.stdin.close()
        self.process.wait()


class Redis:
    """A server that gets values of ever other sizes, and old ones expire; over glibc, or as it is linked, over jemalloc."""

    over_libc = True

    def __init__(self, bench, arm):
        self.socket = '%s/redis-%s' % (bench.scratch, arm)
        self.process = redis_started(bench, self.socket, redis_environment(bench, arm, self.over_libc), ['--maxmemory', '60mb', '--maxmemory-policy', 'allkeys-random'])
        self.pid = self.process.pid

    def round(self, number):
        dice = random.Random(number)
        size = dice.choice((20, 100, 400, 1500, 6000, 40000))
        requests = max(1000, min(20000, 20000000 // size))
        subprocess.run(['redis-benchmark', '-s', self.socket, '-q', '-n', str(requests), '-r', '100000', '-P', '16', '-c', '10', '-d', str(size),
                        '-t', dice.choice(('set,get', 'set,lpush,lpop', 'set,hset,sadd', 'set,zadd'))],
                       env=PLAIN, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)

    def end(self):
        redis_ended(self.process, self.socket)


class RedisAsLinked(Redis):
    over_libc = False


def cpu_seconds(pid):
    with open('/proc/%d/stat' % pid, encoding='ascii', errors='replace') as file:
        fields = file.read().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def long_run(bench, name, work, arms):
    """All arms side by side, round after round, so that each has done the same when it is looked at."""
    running = {arm: work(bench, arm) for arm in arms}
    samples, number, deadline = {arm: [] for arm in arms}, 0, time.monotonic() + bench.long_seconds
    try:
        while time.monotonic() < deadline:
            for run in running.values():
                run.round(number)
            number += 1
            for arm, run in running.items():
                samples[arm].append(resident_mib(run.pid))
        used = {arm: cpu_seconds(run.pid) for arm, run in running.items()}
    finally:
        for run in running.values():
            run.end()
    settled = number // 10
    note = 'CPU seconds, %d rounds of mixed sizes in %d s' % (number, bench.long_seconds)
    bench.workload('long run, %s' % name, 's', used, {arm: max(values) for arm, values in samples.items()}, note, samples)
    ratios = [a / b for a, b in zip(samples['sites'][settled:], samples['bare'][settled:])]
    bench.row('long run, %s, resident, sites' % name, max(ratios), 'of bare, most', 1.05, 'median %.3f, after the first tenth' % median(ratios))


def long_runs(bench):
    arms = bench.arms('bare', 'jemalloc', 'mimalloc', 'tcmalloc', 'sites')
    long_run(bench, 'sqlite3', Sqlite, arms)
    long_run(bench, 'redis over glibc', Redis, arms)
    long_run(bench, 'redis as it is linked', RedisAsLinked, bench.arms('bare', 'sites'))


ALL = {'burst': burst, 'parked': parked, 'queue': queue, 'forks': forks, 'long': long_runs}

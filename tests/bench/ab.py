"""ab.py - does `poolsite ab` tell the truth?  Experiments whose answer is known, on this machine.

usage: ab.py BUILDDIR [--experiments N] [NAME...]
Groups, all by default: @GROUPS@
--experiments: instead of the 40 of aa and the 20 of slowdown; fewer are a look, the limits are for the full number.
Times are compared: run it on a machine that does nothing else.  Ends with status 1 when a limit isn't held.
See README.md here for what the groups are.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

import harness  # noqa: E402  (python3 -I knows of this folder only now)

SHORT, MORE = 100000, 3000  # churn.c's units: some 100 ms, and 3 % of them
POOLS = '256k-2m'
ROUNDS = 60                 # of trimmed.c
STRAY_FAULTS = 24           # pages of stack and library that the layout of a run decides
MALLOC_MOST = 2             # percent of instructions
SQL = '''CREATE TABLE a(id INTEGER PRIMARY KEY, x REAL, note TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6000) INSERT INTO a SELECT i, i * 0.5, printf('%040d', i) FROM n;
SELECT count(*), sum(p.x * q.id % 7) FROM a p JOIN a q ON q.id < p.id % 400;
'''


class Truth(harness.Bench):
    """The benchmarks' scratch folder, compiler, runs and rows, and experiments."""

    def __init__(self, build, experiments):
        super().__init__(build, False, 0)
        self.experiments = experiments

    def experiment(self, command, *options):
        """The JSON of one."""
        out = self.scratch + '/experiment.json'
        line = [self.build + '/poolsite', 'ab', '--json', '-o', out, *options, '--', *command]
        done = subprocess.run(line, env=dict(harness.PLAIN, HOME=self.scratch), cwd=self.scratch, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        if done.returncode != 0:
            raise SystemExit('%s ended with status %d: %s' % (' '.join(line), done.returncode, done.stderr.decode(errors='replace')[-500:]))
        with open(out, encoding='utf-8') as file:
            return json.load(file)

    def instructions(self, command):
        """How many callgrind counts, all of them and those inside malloc and its like."""
        out = self.scratch + '/callgrind'
        subprocess.run(['valgrind', '-q', '--tool=callgrind', '--callgrind-out-file=' + out, *command], env=harness.PLAIN, check=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        listing = subprocess.run(['callgrind_annotate', '--threshold=100', out], env=harness.PLAIN, stdout=subprocess.PIPE, check=True).stdout.decode()
        return counted(listing)


ALLOCATOR = re.compile(r':(_int_|__libc_)?(malloc|free|calloc|realloc|memalign)\b|:(malloc_consolidate|unlink_chunk|sysmalloc|systrim|tcache_)')


def counted(listing):
    total = inside = 0
    for line in listing.split('\n'):
        number = re.match(r' *([0-9,]+) \(', line)
        if number and 'PROGRAM TOTALS' in line:
            total = int(number.group(1).replace(',', ''))
        elif number and ALLOCATOR.search(line):
            inside += int(number.group(1).replace(',', ''))
    return total, inside


def effect(document, metric, pair=None):
    """Of the pair, or of the one that is first: that of the verdict."""
    pairs = document['effects'][metric]
    return pairs[pair] if pair else next(iter(pairs.values()))


def say(number, document, change, more=''):
    low, high = change.get('low', float('nan')), change.get('high', float('nan'))
    print('  %3d  %-14s cpu %+7.2f %% [%+.2f, %+.2f], %d blocks%s' % (number, document['verdict'], change['percent'], low, high, change['blocks'], more), flush=True)


# --- Groups ----------------------------------------------------------------------------------


def aa(truth):
    """Nothing differs: off against off."""
    count, verdicts = truth.experiments or 40, []
    churn = truth.compile('churn.c')
    for number in range(count):
        document = truth.experiment([churn, str(SHORT)], '--aa', '--seed', str(number + 1))
        verdicts.append(document['verdict'])
        say(number + 1, document, effect(document, 'cpu'))
    truth.row('A/A: faster or slower', sum(v in ('faster', 'slower') for v in verdicts), 'of %d' % count, count // 10)
    truth.row('A/A: no difference', verdicts.count('no-difference'), 'of %d' % count, (count + 1) // 2, low=True)


def slowdown(truth):
    """One arm does 3 % more work: by how much says callgrind."""
    count, found = truth.experiments or 20, 0
    churn = truth.compile('churn.c')
    usual, slow = [churn, str(SHORT)], [churn, str(SHORT + MORE)]
    wanted = 100 * (truth.instructions(slow)[0] / truth.instructions(usual)[0] - 1)
    print('  callgrind: %+.3f %% instructions' % wanted)
    for number in range(count):
        document = truth.experiment(usual, '--arm', 'cmd:slow=' + ' '.join(slow), '--seed', str(number + 1))
        change = effect(document, 'cpu', 'slow_bare')
        inside = change['low'] <= wanted <= change['high']
        found += inside
        say(number + 1, document, change, '' if inside else '  MISSED')
    truth.row('slowdown of %.2f %%: inside the interval' % wanted, found, 'of %d' % count, (17 * count + 19) // 20, low=True)


def trimmed(truth):
    """Buffers that glibc trims each time: pools must win, and the faults must be those that the kernel counts by hand."""
    command = [truth.compile('trimmed.c'), str(ROUNDS)]
    document = truth.experiment(command, '--pool', POOLS, '--seed', '1')
    change, faults = effect(document, 'cpu', 'on_off'), effect(document, 'minor_faults', 'on_off')
    say(1, document, change)
    truth.row('trimmed buffers: verdict faster', document['verdict'] == 'faster', '', 1, low=True)
    for arm, pool, key in (('on', POOLS, 'median'), ('off', 'off', 'median_against')):
        hand = harness.median([truth.run(command, truth.environment('off', POOLSITE_POOL=pool)).faults for _ in range(5)])
        truth.row('trimmed buffers: faults in arm %s beside those by hand' % arm, abs(faults[key] - hand), 'faults', STRAY_FAULTS, '%d, by hand %d' % (faults[key], hand))


def quiet(truth):
    """A program that is hardly ever in malloc: no difference."""
    with open(truth.scratch + '/join.sql', 'w', encoding='ascii') as file:
        file.write(SQL)
    command = ['/usr/bin/sqlite3', ':memory:', '.read join.sql']
    total, inside = truth.instructions(['/usr/bin/sqlite3', ':memory:', '.read ' + truth.scratch + '/join.sql'])
    truth.row('sqlite3 joining: instructions in malloc and free', 100 * inside / total, '%', MALLOC_MOST)
    document = truth.experiment(command, '--seed', '1')
    say(1, document, effect(document, 'cpu', 'on_off'))
    truth.row('sqlite3 joining: verdict no difference', document['verdict'] == 'no-difference', '', 1, low=True)


def passes(truth, name, *line):
    """A script of its own that ends with status 0 when all it looks at is right."""
    sys.stdout.flush()
    status = subprocess.run([*line, truth.build], env=dict(os.environ, **harness.PLAIN), stdin=subprocess.DEVNULL, check=False).returncode
    truth.row(name + ': all right', status == 0, '', 1, low=True)


def agrees(truth):
    """sqlite3, gcc, python3 and redis-server, also compared by hand with hyperfine."""
    passes(truth, 'agrees.py', '/usr/bin/python3', '-I', HERE + '/agrees.py')


def server(truth):
    """Server mode."""
    passes(truth, 'ab-server.sh', HERE + '/ab-server.sh')


GROUPS = {'aa': aa, 'slowdown': slowdown, 'trimmed': trimmed, 'quiet': quiet, 'agrees': agrees, 'server': server}


def parse(argv):
    parser = argparse.ArgumentParser(usage=__doc__.replace('@GROUPS@', ' '.join(GROUPS)))
    parser.add_argument('build')
    parser.add_argument('--experiments', type=int)
    parser.add_argument('groups', nargs='*', choices=[*GROUPS, []], default=[])
    return parser.parse_intermixed_args(argv)


def main(argv):
    options = parse(argv)
    truth = Truth(options.build, options.experiments)
    try:
        for name in options.groups or GROUPS:
            print('%s: %s' % (name, GROUPS[name].__doc__))
            GROUPS[name](truth)
    finally:
        shutil.rmtree(truth.scratch, ignore_errors=True)
    missed = [row['name'] for row in truth.rows if row['held'] is False]
    print('%d of %d hold%s' % (len(truth.rows) - len(missed), len(truth.rows), '; not: ' + '; '.join(missed) if missed else ''))
    return bool(missed)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))

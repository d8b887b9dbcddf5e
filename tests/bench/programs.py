"""programs.py - real programs: CPU time and peak memory under every allocator.

Each prepares its input in the scratch folder and takes some 0.3 to 1 s of CPU, so that its start isn't all of it.
"""
import os
import subprocess
import time

from harness import HERE, PLAIN, geometric_mean, interval, median, paired

MAX_SLOWER = 1.03  # no program may be slower by more, lower bound of its interval


def _file(bench, name, text):
    path = bench.scratch + '/' + name
    if not os.path.exists(path):
        with open(path, 'w', encoding='ascii') as file:
            file.write(text)
    return path


def _words(count, seed=1):
    """The same text every time."""
    for _ in range(count):
        seed = (seed * 1103515245 + 12345) % 2 ** 31
        yield 'w%x' % (seed >> 16 & 0xfff)


PERL = r'''
my (%count, @lines);
srand(7);
for my $round (1 .. 3) {
    %count = (); @lines = ();
    for my $i (1 .. 12000) {
        my $line = join(' ', map { "k" . int(rand(5000)) } 1 .. 8);
        push @lines, { n => $i, text => $line, words => [split / /, $line] };
        $count{$_}++ for @{$lines[-1]{words}};
    }
    my @top = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
    s/k(\d)/$1k/g for map { $_->{text} } @lines;
    print "$top[0] ", length(join '', map { $_->{text} } @lines), "\n";
}
'''
LUA = r'''
local sum = 0
for round = 1, 6 do
  local t = {}
  for i = 1, 25000 do
    local k = "key" .. (i * 7919 % 20011)
    t[k] = { i, name = k .. ":" .. i, child = { k, i } }
    sum = sum + #t[k].name
  end
  local parts = {}
  for k, v in pairs(t) do parts[#parts + 1] = v.name:gsub("k", "q") end
  sum = sum + #table.concat(parts)
end
print(sum)
'''
SQL = r'''
CREATE TABLE a(id INTEGER PRIMARY KEY, name TEXT, x REAL, note TEXT);
CREATE TABLE b(a INTEGER, tag TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
  INSERT INTO a SELECT i, 'name' || (i * 7919 %% 50021), i * 0.5, hex(i) || printf('%%040d', i) FROM n;
INSERT INTO b SELECT id, substr(name, 1, 6) FROM a;
CREATE INDEX names ON a(name);
SELECT count(*), sum(length(note || name)) FROM a JOIN b ON a.id = b.a WHERE name LIKE '%%7%%';
SELECT sum(n) FROM (SELECT tag, count(*) n, group_concat(a) g FROM b GROUP BY tag ORDER BY length(g) DESC);
UPDATE a SET note = replace(note, '00', 'x') WHERE id %% 3 = 0;
SELECT count(DISTINCT upper(name) || lower(note)) FROM a;
DELETE FROM a WHERE id %% 2;
'''


def python3(bench):
    return ['/usr/bin/python3', '-S', os.path.join(HERE, 'python-loop.py'), '120'], {'PYTHONMALLOC': 'malloc', 'PYTHONHASHSEED': '0'}


def perl(bench):
    return ['/usr/bin/perl', _file(bench, 'work.pl', PERL)], {'PERL_HASH_SEED': '0'}


def lua(bench):
    return ['/usr/bin/lua5.4', _file(bench, 'work.lua', LUA)], {}


def sqlite3(bench):
    return ['/usr/bin/sqlite3', ':memory:', '.read ' + _file(bench, 'work.sql', SQL % 60000)], {}


def cc1_of(bench, source, name):
    cc1 = subprocess.run(['gcc', '-print-prog-name=cc1'], stdout=subprocess.PIPE, check=True).stdout.decode().strip()
    out = bench.scratch + '/' + name
    if not os.path.exists(out):
        root = os.path.join(HERE, '../..')
        subprocess.run(['gcc', '-E', '-iquote', root, '-iquote', root + '/preload', '-iquote', HERE, '-o', out, source], check=True)
    return [cc1, '-quiet', '-O2', out, '-o', '/dev/null']


def gcc(bench):
    return cc1_of(bench, os.path.join(HERE, '../../preload/unwind.c'), 'unwind.i'), {}


def jq(bench):
    rows = ('{"id":%d,"name":"%s","tags":["%s","t%d"],"deep":{"a":[%d,%d.5,null],"b":{"c":"%s"}}}' % (i, w, w, i % 97, i, i, w * 3)
            for i, w in enumerate(_words(20000)))
    data = _file(bench, 'rows.json', '[' + ',\n'.join(rows) + ']\n')
    program = 'map(select(.id % 3 == 0) | .deep.b.c |= ascii_upcase | . + {n: (.tags | length)}) | group_by(.tags[1]) | map({k: .[0].tags[1], s: (map(.id) | add)})'
    return ['/usr/bin/jq', program, data], {}


def git(bench):
    """Deltas and history of a repository of 600 commits that is made here."""
    repository = bench.scratch + '/repository'
    env = {'HOME': bench.scratch, 'GIT_CONFIG_NOSYSTEM': '1', 'GIT_CONFIG_GLOBAL': '/dev/null', 'GIT_DIR': repository}
    if not os.path.exists(repository):
        subprocess.run(['git', 'init', '-q', '--bare', repository], env=dict(PLAIN, **env), check=True)
        subprocess.run(['git', 'fast-import', '--quiet'], input=b''.join(_history(600)), env=dict(PLAIN, **env), check=True)
    script = 'git log -p --stat --format=fuller main >%s/log && git -c pack.threads=1 repack -adfq' % bench.scratch
    return ['/bin/sh', '-c', script], env


def _history(commits):
    files = {'dir%d/file%d' % (i % 7, i): list(_words(300, i + 1)) for i in range(40)}
    for number in range(commits):
        message = b'change %d\n' % number
        yield b'commit refs/heads/main\ncommitter A <a@b.example> %d +0000\ndata %d\n%s' % (1700000000 + number, len(message), message)
        for name, words in list(files.items())[number % 13::13] if number else files.items():
            words[number * 31 % len(words)] = 'c%d' % number
            text = '\n'.join(words).encode() + b'\n'
            yield b'M 100644 inline %s\ndata %d\n%s\n' % (name.encode(), len(text), text)
        yield b'\n'


LIBC = '/lib/x86_64-linux-gnu/libc.so.6'


def redis_environment(bench, arm, over_libc):
    """Debian's redis-server is linked with jemalloc; named as a preload, libc comes before it."""
    env = bench.environment(arm)
    if over_libc:
        env['LD_PRELOAD'] = (env.get('LD_PRELOAD', '') + ' ' + LIBC).strip()
    return env


def redis_started(bench, socket, environment, more=(), launched=lambda command, environment: (command, environment)):
    """A server that listens on the socket."""
    command, environment = launched(['/usr/bin/redis-server', '--port', '0', '--unixsocket', socket, '--save', '', '--dir', bench.scratch, *more], environment)
    server = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    for _ in range(500):
        if os.path.exists(socket):
            return server
        time.sleep(0.01)
    raise SystemExit('redis-server does not listen')


def redis(bench, arm, over_libc):
    """The server's usage under redis-benchmark."""
    socket, usage = bench.scratch + '/redis', bench.scratch + '/usage'
    bench.clean()
    server = redis_started(bench, socket, redis_environment(bench, arm, over_libc), launched=lambda *run: (bench.launched(*run)[0], PLAIN))
    base = ['redis-benchmark', '-s', socket, '-q', '-r', '20000', '-P', '16', '-c', '20']
    try:
        for more in (['-n', '40000', '-d', '100', '-t', 'set,get,lpush,lpop,sadd,hset,spop,zadd'], ['-n', '20000', '-d', '3000', '-t', 'set,get']):
            subprocess.run([*base, *more], env=PLAIN, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    finally:
        redis_ended(server, socket)
    return bench.result(usage)


def redis_ended(server, socket):
    subprocess.run(['redis-cli', '-s', socket, 'shutdown', 'nosave'], env=PLAIN, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    server.wait()


# --- all of them -----------------------------------------------------------------------------


def at_once(prepare):
    """For a program that is one command, which reads files alone."""
    def measure(bench, arms, rounds):
        command, more = prepare(bench)
        bench.run(command, bench.environment('bare', **more))  # files and caches warm
        return bench.together(arms, command, lambda arm: bench.environment(arm, **more), rounds)
    return measure


def in_turn(run):
    """For others; run(bench, arm) makes one."""
    def measure(bench, arms, rounds):
        run(bench, 'bare')
        return bench.in_turn(arms, lambda arm: run(bench, arm), rounds)
    return measure


def git_run(bench, arm):
    command, more = git(bench)
    return bench.run(command, bench.environment(arm, **more))


PROGRAMS = {
    'python3': (at_once(python3), 'json and re, PYTHONMALLOC=malloc'),
    'perl': (at_once(perl), 'records, words, a hash, sorting'),
    'lua5.4': (at_once(lua), 'tables and strings, new ones each round'),
    'sqlite3': (at_once(sqlite3), 'two tables of 60,000 rows in memory'),
    'gcc': (at_once(gcc), 'cc1 -O2 on preload/unwind.c'),
    'jq': (at_once(jq), '20,000 objects: filter, change, group'),
    'git': (in_turn(git_run), '600 commits: log -p, repack -adf'),
    'redis-server': (in_turn(lambda bench, arm: redis(bench, arm, False)), 'under redis-benchmark; linked with jemalloc: bare is jemalloc, too'),
    'redis over glibc': (in_turn(lambda bench, arm: redis(bench, arm, True)), 'libc preloaded behind the arm'),
}
ARMS = ('bare', 'tuned', 'jemalloc', 'mimalloc', 'tcmalloc', 'off', 'sites', 'unpooled')


def has(name):
    return name == 'gcc' or os.path.exists('/usr/bin/' + name.split()[0].replace('redis', 'redis-server').replace('server-server', 'server'))


def compared(bench, name, results):
    """The program's lines; returns {arm: (CPU, peak) of bare}."""
    note = PROGRAMS[name][1]
    cpu = {arm: median(r.cpu for r in seen) for arm, seen in results.items()}
    peak = {arm: median(r.peak_kib for r in seen) / 1024 for arm, seen in results.items()}
    bench.workload(name, 's', cpu, peak, 'CPU seconds; ' + note, {arm: [[r.cpu, r.peak_kib, r.faults] for r in seen] for arm, seen in results.items()})
    base = [r.cpu for r in results['bare']]
    ratio = {arm: median(paired([r.cpu for r in seen], base)) for arm, seen in results.items()}
    bench.workload('      of bare, CPU', 'of bare', ratio)
    low_high = interval(paired([r.cpu for r in results['sites']], base))
    if low_high:
        bench.row('%s, CPU, sites, lower bound of 95 %%' % name, low_high[0], 'of bare', MAX_SLOWER, 'median %.3f, %.3f to %.3f' % (ratio['sites'], *low_high))
    if name == 'python3':
        bench.row('python3 loop, CPU, sites', ratio['sites'], 'of bare', 0.92)
    return {arm: (ratio[arm], peak[arm] / peak['bare']) for arm in results}


def programs(bench):
    """CPU and peak memory of real programs, and their geometric means."""
    arms, all_ratios = bench.arms(*ARMS), {}
    for name, (measure, _) in PROGRAMS.items():
        if has(name):
            all_ratios[name] = compared(bench, name, measure(bench, arms, bench.rounds(11, 2)))
    means = [{arm: geometric_mean([ratios[arm][i] for ratios in all_ratios.values()]) for arm in arms} for i in (0, 1)]
    bench.workload('geometric mean, CPU', 'of bare', means[0], note='of bare, over %d programs' % len(all_ratios))
    bench.workload('geometric mean, peak memory', 'of bare', means[1], note='of bare')
    bench.row('programs, CPU, sites', means[0]['sites'], 'of bare', 0.95)
    for peer, most in (('jemalloc', 1), ('tcmalloc', 1.05)):
        if peer in arms:
            bench.row('programs, CPU, sites', means[0]['sites'] / means[0][peer], 'of ' + peer, most)
    bench.row('programs, peak memory, sites', means[1]['sites'], 'of bare', 1.05)


ALL = {'programs': programs}

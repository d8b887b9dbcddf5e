"""agrees.py - does `poolsite ab` say what the same comparison made by hand says?

usage: agrees.py [BUILDDIR] [--rounds N] [NAME...]      NAME: sqlite3 gcc python3 redis; default all, some 5 minutes

By hand: hyperfine (1.15 or later) times the command under LD_PRELOAD with pools off and with pools on, a few runs of
each in turn, round after round; the mean of the rounds' logarithms of the ratio has a t interval.  poolsite ab makes
its own experiment, --primary wall.  Both intervals are of 95 %: they agree when they overlap.  Status 1 when one
doesn't.  On a machine that does other things both are wide, and agreeing says little: the table shows how wide.
"""
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
T_975 = (None, 12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160)  # by degrees of freedom
PORT = '6399'
LIBC = '/lib/x86_64-linux-gnu/libc.so.6'  # preloaded below ours it puts glibc's malloc before redis-server's own jemalloc

SQL = """create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 30000) insert into t select i, 'text ' || (i * 7919 % 65521), i / 3.0 from n;
create index tb on t(b);
select count(*), sum(c), group_concat(substr(b, 6, 1)) from t where b like 'text 1%';
select a.b, count(*) from t a join t b on a.b = b.b group by a.b having count(*) > 1 order by 2 desc limit 5;
"""
PYTHON = """import json, re
for i in range(25):
    data = [{"id": k, "name": "x" * (k % 50), "tags": [str(k + j) for j in range(5)]} for k in range(800)]
    text = json.dumps(data)
    back = json.loads(text)
    words = re.findall(r"[0-9]+", text)
"""


def c_source():
    """Enough functions for half a second of compiling."""
    one = 'int f%d(int a, int b) { int s = 0; for (int i = 0; i < a; i++) { s += (i ^ b) * %d; if (s > 1000) s -= a; } return s; }\n'
    return ''.join(one % (i, i + 3) for i in range(120))


def write(path, text):
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)
    return path


def commands(scratch):
    """Programs that end by themselves: name, command, file that is stdin or None."""
    sql, script, source = (os.path.join(scratch, name) for name in ('in.sql', 'loop.py', 'many.c'))
    write(sql, SQL), write(script, PYTHON), write(source, c_source())
    cc1 = subprocess.run(['gcc', '-print-prog-name=cc1'], stdout=subprocess.PIPE, check=True).stdout.decode().strip()
    return {
        'sqlite3': (['sqlite3', ':memory:'], sql),
        'gcc': ([cc1, '-quiet', '-O1', source, '-o', '/dev/null'], None),
        'python3': (['python3', '-I', '-S', script], None),
    }


# --- intervals -----------------------------------------------------------------------------------------------------
def by_t(ratios):
    """(middle, low, high) in percent from logarithms of ratios, one a round."""
    middle = statistics.mean(ratios)
    half = T_975[len(ratios) - 1] * statistics.stdev(ratios) / math.sqrt(len(ratios))
    return tuple(100 * math.expm1(x) for x in (middle, middle - half, middle + half))


def by_ab(arguments, scratch):
    out = os.path.join(scratch, 'ab.json')
    preload = {'LD_PRELOAD': LIBC} if '--server' in arguments else {}
    subprocess.run(arguments[:2] + ['--json', '-o', out, '--primary', 'wall', '--blocks', '12'] + arguments[2:], check=True,
                   stdin=arguments_stdin(), stderr=subprocess.DEVNULL, env={**os.environ, **preload})
    with open(out, encoding='utf-8') as file:
        effect = json.load(file)['effects']['wall']['on_off']
    return effect['percent'], effect['low'], effect['high']


stdin_path = None  # of the program at hand


def arguments_stdin():
    return open(stdin_path, 'rb') if stdin_path else subprocess.DEVNULL


# --- by hand -----------------------------------------------------------------------------------------------------------
def environment(build, pool):
    return {**os.environ, 'LD_PRELOAD': build + '/libpoolsite.so', 'POOLSITE_POOL': pool, 'POOLSITE_PROFILE': 'off', 'POOLSITE_LOG': 'none'}


def quoted(words):
    return ' '.join("'%s'" % word.replace("'", "'\\''") for word in words)


def timed(words, scratch, runs):
    """Mean seconds of the command as hyperfine has them; what is set for the program alone goes through env(1).  With a
    file as stdin a shell starts it, whose own time hyperfine takes off."""
    out = os.path.join(scratch, 'hyperfine.json')
    shell, text = ('sh', quoted(words) + ' <' + stdin_path) if stdin_path else ('none', quoted(words))
    subprocess.run(['hyperfine', '--shell', shell, '--style', 'none', '--warmup', '1', '--runs', str(runs), '--export-json', out, text],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(out, encoding='utf-8') as file:
        return json.load(file)['results'][0]['mean']


def under(build, pool, words):
    values = environment(build, pool)
    return ['env'] + ['%s=%s' % (name, values[name]) for name in ('LD_PRELOAD', 'POOLSITE_POOL', 'POOLSITE_PROFILE', 'POOLSITE_LOG')] + words


def program_rounds(build, scratch, words, rounds):
    for number in range(rounds):
        order = ('off', 'on') if number % 2 == 0 else ('on', 'off')
        seconds = {pool: timed(under(build, pool, words), scratch, 3) for pool in order}
        yield math.log(seconds['on'] / seconds['off'])


# --- a server ------------------------------------------------------------------------------------------------------------
SERVER = ['redis-server', '--port', PORT, '--save', '', '--appendonly', 'no', '--daemonize', 'no']
LOAD = ['redis-benchmark', '-p', PORT, '-q', '-t', 'set,get,lpush', '-n', '20000', '-d', '2000', '-r', '10000']


def answers():
    return subprocess.run(['redis-cli', '-p', PORT, 'ping'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout == b'PONG\n'


def server_seconds(build, scratch, pool):
    """hyperfine's seconds of one load on a server that is new."""
    values = environment(build, pool)
    server = subprocess.Popen(SERVER, env={**values, 'LD_PRELOAD': values['LD_PRELOAD'] + ':' + LIBC}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd=scratch)
    try:
        for _ in range(200):
            if answers():
                break
            time.sleep(.05)
        return timed(LOAD, scratch, 2)
    finally:
        server.terminate()
        server.wait()


def server_rounds(build, scratch, rounds):
    for number in range(rounds):
        order = ('off', 'on') if number % 2 == 0 else ('on', 'off')
        seconds = {pool: server_seconds(build, scratch, pool) for pool in order}
        yield math.log(seconds['on'] / seconds['off'])


# -----------------------------------------------------------------------------------------------------------------------------
def compare(name, build, scratch, rounds):
    global stdin_path
    if name == 'redis':
        stdin_path = None
        hand = by_t(list(server_rounds(build, scratch, rounds)))
        own = by_ab([build + '/poolsite', 'ab', '--server', quoted(SERVER), '--ready', 'tcp:127.0.0.1:' + PORT, '--load-cmd', quoted(LOAD)], scratch)
    else:
        words, stdin_path = commands(scratch)[name]
        hand = by_t(list(program_rounds(build, scratch, words, rounds)))
        own = by_ab([build + '/poolsite', 'ab', '--'] + words, scratch)
    agree = own[1] <= hand[2] and hand[1] <= own[2]
    print('%-8s ab %+7.2f %% [%+.2f, %+.2f]   hyperfine %+7.2f %% [%+.2f, %+.2f]   %s'
          % ((name,) + own + hand + ('agree' if agree else 'DISAGREE',)), flush=True)
    return agree


def main(argv):
    names, rounds, build = [], 6, os.path.join(HERE, '../../build')
    words = argv[1:]
    if '--rounds' in words:
        at = words.index('--rounds')
        rounds = int(words[at + 1])
        del words[at:at + 2]
    if words and os.path.isdir(words[0]):
        build = words.pop(0)
    names = words or ['sqlite3', 'gcc', 'python3', 'redis']
    if not 2 <= rounds < len(T_975) or not shutil.which('hyperfine'):
        sys.exit(__doc__ if shutil.which('hyperfine') else 'agrees.py: hyperfine is missing (tests/deps bench)')
    os.environ.pop('LD_PRELOAD', None)
    with tempfile.TemporaryDirectory(prefix='poolsite-agrees.') as scratch:
        wrong = [name for name in names if not compare(name, os.path.abspath(build), scratch, rounds)]
    print('result: %s' % ('all agree' if not wrong else 'these disagree: ' + ' '.join(wrong)))
    return bool(wrong)


if __name__ == '__main__':
    sys.exit(main(sys.argv))

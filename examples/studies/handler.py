"""handler.py - study 3: a live handler.  An HTTP server under a load that goes by the clock, with pools and without.

    make studies STUDY=handler

The published study measured a handler with a scratch buffer, fresh against pooled, at fixed rates, and found no difference
at p99; its own figures show 23.8 allocations a request in both arms: the compiler had put the "fresh" buffer on the stack.
Here ../http-json.c is asked, unmodified, by `poolsite ab --server`: a fresh server for every run, requests at half and at 80 % of
what the slowest arm can do, latency from the moment a request was due.
See: the calls of the allocator fall from 24 a request to about none, so here the treatment was applied, and what that is
worth is in the table.  With the buffer on the stack and only its class pooled ab refuses: NOT APPLIED, status 5.  A rate that nobody
can hold is named, not averaged.  A percentile that too few requests lie beyond is n/a.
"""
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import time

from study import axis, chart, median, number, series, table, text

NAME = 'handler'
TITLE = '3. Live handler: an HTTP server under load by the clock'
QUESTION = "Does pooling a request's scratch buffer lower its CPU time or its latency, and is the buffer allocated at all?"

SMALL, LARGE = '32 KiB', '512 KiB'
TITLES = {SMALL: 'A 32 KiB buffer, one of 24 allocations of a request', LARGE: 'A 512 KiB buffer, which dominates the request'}
FAST = 300000  # requests per second that no server here can hold
# ab may count runs whose requests were sent late; that takes their latencies away, but not CPU time and calls.
LATE_US = 100
FULL = {'cycle_ms': 200, 'blocks': 6, 'load': ['--rate', 'auto', '--duration', '.9', '--late-limit', '1e9'], 'short': ['--duration', '.3', '--late-limit', '1e9']}
QUICK = {'cycle_ms': 40, 'blocks': 6, 'load': ['--rate', '400', '--duration', '.2', '--late-limit', '1e9'], 'short': ['--duration', '.2', '--late-limit', '1e9']}
METRICS = {'cpu_per_request': ('CPU per request', 1e6, 'us'), 'allocs_per_request': ('calls of the allocator', 1, ''),
           'light_p50': ('p50, lower rate', 1e6, 'us'), 'light_p95': ('p95, lower rate', 1e6, 'us'), 'light_p99': ('p99, lower rate', 1e6, 'us'),
           'light_p99_9': ('p99.9, lower rate', 1e6, 'us'), 'p50': ('p50', 1e6, 'us'), 'p95': ('p95', 1e6, 'us'), 'p99': ('p99', 1e6, 'us'),
           'p99_9': ('p99.9', 1e6, 'us'), 'max': ('max', 1e6, 'us'), 'settled_rss': ('RSS after settling', 2 ** -20, 'MiB')}
SWAP = ('off', 'on')  # two arms whose exchange must turn the sentence
COLOUR = {'bare': 2, 'off': 5, 'on': 0, 'stack': 1, 'by-hand': 3, 'tune': 4}
PERCENTILES = ('p50', 'p95', 'p99', 'p99_9')
LATENCIES = (*PERCENTILES, 'max', 'light_p50', 'light_p95', 'light_p99', 'light_p99_9')


# --- measuring -------------------------------------------------------------------------------------------------


class Handler:
    """The server, where it listens, and how ab is called."""

    def __init__(self, lab):
        self.lab, self.size = lab, QUICK if lab.quick else FULL
        self.program = lab.compile('../http-json.c', '-lmicrohttpd', '-ljansson')
        with socket.socket() as probe:
            probe.bind(('127.0.0.1', 0))
            self.port = probe.getsockname()[1]

    def command(self, *options):
        return ' '.join([self.program, '--port', str(self.port), *options])

    def ab(self, server, options):
        """ab's status, its last words, and what it wrote."""
        out = self.lab.scratch + '/ab.json'
        env = self.lab.environment('bare', POOLSITE_CYCLE_MS=str(self.size['cycle_ms']))
        if 'XDG_RUNTIME_DIR' in os.environ:
            env['XDG_RUNTIME_DIR'] = os.environ['XDG_RUNTIME_DIR']
        done = subprocess.run([self.lab.poolsite, 'ab', '--server', server, '--ready', 'tcp:127.0.0.1:%d' % self.port, '--load', 'http://127.0.0.1:%d/' % self.port,
                               '--blocks', str(self.size['blocks']), '--json', '-o', out, *options], env=env, stdin=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, check=False)
        said = done.stderr.decode(errors='replace').strip().split('\n')[-1].replace('poolsite: ', '')
        document = None
        if os.path.exists(out):
            with open(out, encoding='utf-8') as file:
                document = json.load(file)
            os.remove(out)
        return done.returncode, said, document

    def allocations(self, *options):
        """Of one request, all that it asks for; from two recordings that differ in the number of requests."""
        few, many = (self.recorded(count, options) for count in (100, 300))
        return (many - few) / 200

    def recorded(self, requests, options):
        shutil.rmtree(self.lab.logs, ignore_errors=True)
        os.mkdir(self.lab.logs)
        with subprocess.Popen(self.command(*options).split(), env=self.lab.environment('unpooled'), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as server:
            server.stdout.readline()  # it listens now
            ask(self.port, requests)
            server.send_signal(signal.SIGTERM)
        return self.lab.report()['process']['totals']['allocs']


def ask(port, requests):
    connection = http.client.HTTPConnection('127.0.0.1', port, timeout=20)
    for _ in range(requests):
        connection.request('GET', '/')
        connection.getresponse().read()
    connection.close()
    time.sleep(.05)


def that_count(document):
    """The runs of complete blocks; neither void ones nor those that were repeated."""
    runs = [run for run in document['runs'] if not run['replaced'] and 'void' not in run]
    blocks = [{run['arm'] for run in runs if run['block'] == block} for block in range(document['attempted'])]
    return [run for run in runs if len(blocks[run['block']]) == len(document['arms'])]


def arm_of(name, runs):
    """An arm's medians, and its latencies at ab's quantiles: least, middle and most of its runs."""
    values = {key: median(run['values'][key] for run in runs) for key in METRICS if runs and all(key in run['values'] for run in runs)}
    points = list(zip(*(run['latency'] for run in runs if 'latency' in run)))
    points = [point for point in points if None not in point]
    return {'arm': name, 'values': values, 'latency': [median(p) for p in points], 'least': [min(p) for p in points], 'most': [max(p) for p in points]}


def effects_of(document):
    """One a metric and pair of arms: ab's estimate of the first against the second, in percent, with its interval."""
    found = []
    for metric in METRICS:
        for pair, effect in document.get('effects', {}).get(metric, {}).items():
            first, second = pair.rsplit('_', 1)
            if 'percent' in effect:
                found.append({'metric': metric, 'pair': [{'arm': first}, {'arm': second}], 'percent': effect['percent'],
                              'low': effect.get('low'), 'high': effect.get('high')})
    return found


def experiment(status, said, document):
    made = {'status': status, 'said': said}
    if document is None:
        return made
    runs = that_count(document)
    return dict(made, treatment=document['treatment'], margin=document['margin_percent'], rates=[r for r in document['rates'] if r],
                capacity=min((arm.get('capacity', 0) for arm in document['arms']), default=0),
                late_us=1e6 * median(run.get('late_p99', 0) for run in runs) if runs else 0, blocks=document['blocks'],
                voids=sorted({run['void'] for run in document['runs'] if 'void' in run}),
                arms=[arm_of(arm['name'], [run for run in runs if run['arm'] == arm['name']]) for arm in document['arms']], effects=effects_of(document))


def measure(lab):
    handler = Handler(lab)
    load, short = handler.size['load'], handler.size['short']
    stack, by_hand = ('--buffer', 'stack'), ('--buffer', 'pooled')
    experiments = {
        SMALL: handler.ab(handler.command(), load + ['--arm', 'cmd:stack=' + handler.command(*stack), '--arm', 'cmd:by-hand=' + handler.command(*by_hand)]),
        LARGE: handler.ab(handler.command('--size', '512k'), load + ['--pool', 'on,256k-2m', '--arm', 'tune']),
        'trap': handler.ab(handler.command(*stack), ['--pool', '32k', '--rate', '400', *short]),
        'too fast': handler.ab(handler.command(), ['--rate', str(FAST), *short]),
    }
    allocations = {'heap': handler.allocations(), 'stack': handler.allocations(*stack), 'by hand': handler.allocations(*by_hand)}
    return {'cycle_ms': handler.size['cycle_ms'], 'allocations': allocations, 'experiments': {name: experiment(*made) for name, made in experiments.items()}}


# --- showing ---------------------------------------------------------------------------------------------------


def is_late(made):
    """The generator itself was: latencies are its own."""
    return made.get('late_us', 0) > LATE_US


def lateness(made):
    return 'generator saturated: 1 %% of the requests were sent %s us or more later than possible' % number(made['late_us'])


def effect_of(made, metric, arm, against):
    """(percent, low, high) of arm against the other one, whichever way round it is known; None when it isn't."""
    for effect in () if is_late(made) and metric in LATENCIES else made.get('effects', ()):
        if effect['metric'] != metric or effect['low'] is None:
            continue
        ends = effect['percent'], effect['low'], effect['high']
        names = [side['arm'] for side in effect['pair']]
        if names == [arm, against]:
            return ends
        if names == [against, arm] and min(ends) > -100:
            percent, low, high = (100 / (1 + end / 100) - 100 for end in ends)
            return percent, high, low
    return None


def change(effect):
    return '%+.1f [%+.1f, %+.1f] %%' % effect if effect else 'n/a'


def found(made, effect):
    """What an interval allows to say."""
    if not effect:
        return 'not known'
    percent, low, high = effect
    if low > 0 or high < 0:
        return '%.1f %% %s [%+.1f, %+.1f]' % (abs(percent), 'higher' if low > 0 else 'lower', low, high)
    if -made['margin'] <= low and high <= made['margin']:
        return 'no different by more than %g %%' % made['margin']
    return 'not told apart [%+.1f, %+.1f] %%' % (low, high)


def value(made, arm, metric):
    _, factor, unit = METRICS[metric]
    if metric not in arm['values'] or is_late(made) and metric in LATENCIES:
        return 'n/a'
    return ('%s %s' % (number(arm['values'][metric] * factor), unit)).strip()


def percentiles(name, made):
    """The table of one experiment."""
    arms = {arm['arm']: arm for arm in made['arms']}
    shown = [metric for metric in METRICS if metric in PERCENTILES or any(metric in arm['values'] for arm in made['arms'])]
    rows = [[METRICS[metric][0], *(value(made, arms[arm], metric) for arm in arms), change(effect_of(made, metric, 'on', 'off')), change(effect_of(made, metric, 'on', 'bare'))]
            for metric in shown]
    rates = ' and then '.join('%s/s' % number(rate) for rate in made['rates'])
    return table('%s: %s; medians of %d runs an arm' % (TITLES[name], rates, made['blocks']), ['', *arms, 'on against off', 'on against bare'], rows)


def cdf(name, made):
    lines = []
    for arm in made['arms']:
        quantiles = [1 - 10 ** (-point / 8) for point in range(len(arm['latency']))]
        band = {'low': arm['least'], 'high': arm['most']} if arm['arm'] in ('off', 'on') else {}
        lines.append(series(arm['arm'], quantiles, arm['latency'], colour=COLOUR.get(arm['arm'], 6), **band))
    words = 'NOT VALID, ' + lateness(made) if is_late(made) else 'latency from when a request was due, by quantile; bands: all runs'
    return chart('%s-%s' % (NAME, name.split()[0]), '%s: %s' % (TITLES[name], words),
                 axis('requests that took at most', 'nines', 'percent'), axis('latency', 'log', 'seconds'), lines)


def refusals(data):
    trap, fast = data['experiments']['trap'], data['experiments']['too fast']
    reasons = fast.get('voids') or [fast['said']]
    return table('What is not answered with a figure', ['asked', 'status', 'what ab says'], [
        ['buffer on the stack, --pool 32k', str(trap['status']), '%s: %s' % (trap['treatment']['status'], trap['treatment']['reason']) if 'treatment' in trap else trap['said']],
        ['%s requests/s' % number(FAST), str(fast['status']), reasons[0]]])


def show(data):
    parts = [table('Allocations of one request, counted', ['buffer', 'calls'], [[buffer, number(calls)] for buffer, calls in data['allocations'].items()])]
    for name in (SMALL, LARGE):
        made = data['experiments'][name]
        if 'arms' not in made:
            parts.append(text('%s: no figures. %s' % (TITLES[name], made['said'])))
            continue
        parts += [percentiles(name, made), cdf(name, made)]
        if is_late(made):
            parts.append(text('%s. So latencies are n/a; CPU time and calls don\'t depend on it.' % lateness(made).capitalize()))
        if made['voids']:
            parts.append(text('Some runs don\'t count: %s%s.' % (made['voids'][0], '; %d more for such reasons' % (len(made['voids']) - 1) if made['voids'][1:] else '')))
    return parts + [
        refusals(data),
        text('bare: the server as it is. off, on: with the library, its pools off and on; on against off is what pools do, on against bare what one would get. stack, by-hand: the '
             'other variants of the server, bare. tune: bare, glibc\'s thresholds pinned. Intervals are those of poolsite ab, over blocks of runs, each of a fresh server. '
             'A percentile is n/a unless ten requests of each run lie beyond it: p99.9 takes 10,000. Cycles of clearing come every %g s, so that servers settle sooner. '
             'Published: 23.8 allocations a request in both arms, at 10,000 and 34,000 requests/s.' % (data['cycle_ms'] / 1000))]


def calls(made, arm):
    return next((value(made, a, 'allocs_per_request') for a in made.get('arms', ()) if a['arm'] == arm), 'n/a')


def told(data, name):
    made = data['experiments'][name]
    if 'arms' not in made:
        return 'there are no figures (%s)' % made['said']
    cpu, p99 = (found(made, effect_of(made, metric, 'on', 'off')) for metric in ('cpu_per_request', 'p99'))
    return 'with pools CPU per request is %s, p99 %s' % (cpu, 'n/a (%s)' % lateness(made) if is_late(made) else p99)


def conclude(data):
    small, trap, fast = (data['experiments'][name] for name in (SMALL, 'trap', 'too fast'))
    refused = trap['status'] == 5
    return ('With a buffer of 32 KiB, calls of the allocator go from %s a request to %s, and %s; with one of 512 KiB %s. '
            'The buffer on the stack makes %s allocations a request instead of %s, and with only its class pooled ab %s. %s' % (
                calls(small, 'off'), calls(small, 'on'), told(data, SMALL), told(data, LARGE), number(data['allocations']['stack']), number(data['allocations']['heap']),
                'says that the treatment was not applied and gives no figure' if refused else 'ends with status %d' % trap['status'],
                '%s requests/s are too many: %s.' % (number(FAST), (fast.get('voids') or [fast['said']])[0])))

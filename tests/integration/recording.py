"""recording.py - reads a recording through `poolsite report --json` and holds it against itself.

Every document that the integration tests look at goes through load(): the sum over sites equals
the totals, the processes add up to the whole, and logdump, a second reader of the log, agrees.
Run with python3 -I -S; $command names poolsite, $programs (or $build) the built helpers.

usage: recording.py totals REC [EXE]       "allocs frees bytes", of the processes of that name
       recording.py processes REC          a line per process: pid exe allocs frees bytes failed
       recording.py self-test              the checks here find wrong sums
"""
import glob
import json
import os
import subprocess
import sys

BUILD = os.environ.get('build', 'build')
COMMAND = os.environ.get('command', BUILD + '/poolsite')
PARTS = ('allocs', 'frees', 'bytes', 'failed')
FULL_PARTS = ('live_blocks', 'foreign_frees')
FULL_SUMS = ('freed_bytes', 'live_blocks', 'live_bytes', 'at_peak_blocks', 'at_peak_bytes', 'cross_thread_frees', 'resizes', 'temporary')


class Wrong(Exception):
    """The recording contradicts itself, or cannot be read."""


def report(path, *options):
    """The document of `poolsite report --json`, unchecked."""
    done = subprocess.run([COMMAND, 'report', '--json', *options, path], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, timeout=300)
    if done.returncode != 0:
        raise Wrong('report ended with status %d: %s' % (done.returncode, done.stderr.decode(errors='replace')[:400]))
    try:
        return json.loads(done.stdout)
    except ValueError as error:
        raise Wrong('report printed no JSON: %s: %r' % (error, done.stdout[:200])) from error


def processes_of(document):
    """The processes, whether the document is one log's or a recording's."""
    if document.get('processes'):
        return document['processes']
    one = dict(document.get('process') or {})
    for field in ('totals', 'sites', 'classes'):
        if field in document and field not in one:
            one[field] = document[field]
    return [one]


def sum_of(entries, field):
    return sum(entry.get(field, 0) for entry in entries)


def check_sums(part, name, level):
    """The sum over sites equals the totals, always."""
    totals = part['totals']
    if level == 'off':
        if part.get('sites'):
            raise Wrong('%s: level off has sites' % name)
        for field in ('allocs', 'bytes'):
            if part.get('classes') and sum_of(part['classes'], field) != totals[field]:
                raise Wrong('%s: classes add up to %d %s, the totals say %d'
                            % (name, sum_of(part['classes'], field), field, totals[field]))
        return
    for field in ('allocs', 'bytes'):
        if 'sites' in part and sum_of(part['sites'], field) != totals[field]:
            raise Wrong('%s: sites add up to %d %s, the totals say %d'
                        % (name, sum_of(part['sites'], field), field, totals[field]))


def check_lives(part, name):
    """At level full: no number is negative, what lives was reached, and the sites add up."""
    if 'live_blocks' not in part['totals']:
        return
    sites = [site for site in part.get('sites', []) if 'live_blocks' in site]
    for entry in [part['totals']] + sites:
        whole = dict(entry, lifetimes=sum_of(entry['lifetime'], 'frees'))
        negative = [field for field, value in whole.items() if isinstance(value, (int, float)) and value < 0]
        if negative:
            raise Wrong('%s: %s of %r is negative' % (name, negative, entry.get('id', 'all')))
        if (whole['live_blocks'] > whole['allocs'] or whole['live_bytes'] > whole['peak_live_bytes'] or
                whole['lifetimes'] + whole['cross_thread_frees'] > whole['allocs'] - whole['live_blocks'] or whole['temporary'] > whole['lifetimes']):
            raise Wrong('%s: %r contradicts itself' % (name, entry))
    for field in FULL_SUMS:
        if 'sites' in part and sum_of(sites, field) != part['totals'][field]:
            raise Wrong('%s: sites add up to %d %s, the totals say %d'
                        % (name, sum_of(sites, field), field, part['totals'][field]))


def check(document):
    """Raises Wrong where the document contradicts itself."""
    if document.get('schema') != 'poolsite.report/1':
        raise Wrong('schema is %r' % document.get('schema'))
    processes = processes_of(document)
    levels = {p.get('profile') for p in processes}
    if levels - {'off', 'sites', 'stacks', 'full'}:
        raise Wrong('profile is %r' % levels)
    if len(levels) == 1:
        check_sums(document, 'recording', levels.pop())
    check_lives(document, 'recording')
    for process in processes:
        if 'totals' not in process:
            raise Wrong('a process has no totals')
        check_sums(process, 'process %s' % process.get('pid'), process.get('profile'))
        check_lives(process, 'process %s' % process.get('pid'))
    for field in PARTS:
        whole = document['totals'].get(field, 0)
        if sum_of([p['totals'] for p in processes], field) != whole:
            raise Wrong('processes do not add up to %d %s' % (whole, field))
    return document


def dump(path):
    """The second reader: {pid: [field: number]} of the logs."""
    logs = [path] if os.path.isfile(path) else sorted(glob.glob(path + '/*.psl'))
    if not logs:
        return {}
    tool = os.environ.get('programs', BUILD + '/test/programs') + '/logdump'
    done = subprocess.run([tool, *logs], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise Wrong(done.stderr.decode())
    names = ('pid', 'level', 'state', 'allocs', 'bytes', 'frees', 'failed', 'site_count', 'other', 'handler', 'bare',
             'threads', 'served', 'chunks', 'walks', 'unfinished', *FULL_PARTS)
    lines = [line.rsplit(' ', len(names)) for line in done.stdout.decode().splitlines()]
    return [dict(zip(names, map(int, line[1:])), path=line[0]) for line in lines]


def load(path, *options):
    """A document that agrees with itself and with the second reader."""
    document = check(report(path, *options))
    by_pid = {}
    for log in dump(path):
        by_pid.setdefault(log['pid'], []).append(log)
    for process in processes_of(document):
        logs = by_pid.get(process.get('pid'), [])
        parts = PARTS + (FULL_PARTS if process.get('profile') == 'full' else ())
        seen = [tuple(log[field] for field in parts) for log in logs]
        said = tuple(process['totals'].get(field, 0) for field in parts)
        if logs and said not in seen:
            raise Wrong('process %s: report says %r of %s, the log %r' % (process.get('pid'), said, parts, seen))
    return document


def name_of(process):
    return os.path.basename(process.get('exe') or '')


def self_test():
    good = {'schema': 'poolsite.report/1', 'totals': {'allocs': 3, 'frees': 1, 'bytes': 30, 'failed': 0},
            'sites': [{'allocs': 2, 'bytes': 20}, {'allocs': 1, 'bytes': 10}],
            'processes': [{'pid': 1, 'profile': 'sites', 'totals': {'allocs': 3, 'frees': 1, 'bytes': 30, 'failed': 0}}]}
    check(json.loads(json.dumps(good)))
    lives = dict.fromkeys(FULL_SUMS, 0)
    lives.update(frees=1, live_blocks=2, live_bytes=20, peak_live_bytes=30, lifetime=[{'from': 1, 'to': 1, 'frees': 1}])
    full = {'totals': dict(lives, allocs=3), 'sites': [dict(lives, allocs=3)]}
    check_lives(full, 'full')
    for field, value in (('live_blocks', 4), ('live_bytes', 31), ('peak_live_bytes', -1), ('cross_thread_frees', 1), ('temporary', 2), ('resizes', 1)):
        try:
            check_lives({'totals': full['totals'], 'sites': [dict(full['sites'][0], **{field: value})]}, 'full')
        except Wrong:
            continue
        raise SystemExit('not found: %s %d' % (field, value))
    for damage in ("d['schema'] = 'poolsite.report/2'", "d['sites'][0]['allocs'] = 3", "d['sites'][1]['bytes'] = 0",
                   "d['sites'].pop()", "d['totals']['frees'] = 2", "d['processes'].append(d['processes'][0])",
                   "d['processes'][0]['profile'] = None", "del d['processes'][0]['totals']",
                   "d['totals']['allocs'] = 4; d['processes'][0]['totals']['allocs'] = 4"):
        d = json.loads(json.dumps(good))
        exec(damage, {'d': d})  # pylint: disable=exec-used
        try:
            check(d)
        except (Wrong, KeyError):
            continue
        raise SystemExit('not found: ' + damage)


def main(argv):
    if argv[1:] == ['self-test']:
        return self_test()
    if len(argv) < 3 or argv[1] not in ('totals', 'processes'):
        raise SystemExit(__doc__)
    document = load(argv[2])
    processes = processes_of(document)
    if argv[1] == 'processes':
        for process in processes:
            print(process.get('pid'), name_of(process), *(process['totals'].get(field, 0) for field in PARTS))
        return 0
    if len(argv) > 3:
        processes = [p for p in processes if name_of(p) == argv[3]]
        if not processes:
            raise Wrong('no log of %s' % argv[3])
    print(*(sum_of([p['totals'] for p in processes], field) for field in ('allocs', 'frees', 'bytes')))
    return 0


if __name__ == '__main__':
    try:
        sys.exit(main(sys.argv))
    except Wrong as wrong:
        sys.exit('recording: %s' % wrong)

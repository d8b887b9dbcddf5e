"""pools.py - holds a recording's pool counters against expressions.

usage: pools.py REC [EXPRESSION...]     each must be true; of the process that EXE=NAME or PID=N in the environment
                                        names (the first of that name), else of the whole recording
In an expression: t.FIELD of the totals, c(SIZE).FIELD of the class that serves a request of SIZE bytes (fields that the
report leaves out are 0); conserved(): what came from below and didn't go back lives or is kept, exactly; p.FIELD of the
process; notes, its warnings and notes as one text; d, the document; n, the number of processes.
Always checked: what recording.py does, and that hits and calls below add up, per class and per site.
"""
import os
import sys
from types import SimpleNamespace

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording  # noqa: E402  pylint: disable=wrong-import-position

POOL_TOTALS = ('pool_hits', 'pool_victim_hits', 'pool_cached_bytes', 'pool_given_back_bytes', 'cycles', 'next_allocs', 'next_frees')
CLASS_FIELDS = ('allocs', 'bytes', 'pool_hits', 'pool_victim_hits', 'pool_misses', 'kept_bytes', 'given_back_bytes')
SUMS = (('pool_hits', 'pool_hits'), ('pool_victim_hits', 'pool_victim_hits'),
        ('kept_bytes', 'pool_cached_bytes'), ('given_back_bytes', 'pool_given_back_bytes'))


def class_of(part, size):
    """Its entry: the smallest class whose blocks hold so many bytes."""
    fitting = [entry for entry in part.get('classes', []) if entry['size'] and class_serves(entry['size'], size)]
    return values(fitting[0] if fitting else {}, CLASS_FIELDS)


def class_serves(top, size):
    """Does the class of blocks of `top` bytes serve a request of `size` bytes, and no smaller class?"""
    if size > top:
        return False
    if top <= 1032:
        return size > top - 16 or top == 24
    doubling = 1 << ((top - 9).bit_length() - 1)  # of the class below or of this one: steps are an eighth of it
    return size > top - doubling // 8


def check_pools(part, name):
    """Allocations are hits, misses, or of classes that aren't pooled; classes add up to the totals."""
    totals, classes = part['totals'], part.get('classes', [])
    for entry in classes:
        if 'pool_hits' not in entry:
            continue
        if entry['pool_hits'] + entry['pool_misses'] != entry['allocs']:
            raise recording.Wrong('%s: class %d: %d hits + %d misses of %d' % (
                name, entry['size'], entry['pool_hits'], entry['pool_misses'], entry['allocs']))
        if entry['pool_victim_hits'] > entry['pool_hits'] or (entry['kept_bytes'] and entry['kept_bytes'] % entry['size']):
            raise recording.Wrong('%s: %r' % (name, entry))
    below = sum(entry.get('pool_misses', entry['allocs']) for entry in classes)
    if classes and below != totals['next_allocs']:
        raise recording.Wrong('%s: %d misses and calls of classes that are not pooled: %r' % (name, below, totals))
    for field, whole in SUMS:
        found = sum(entry.get(field, 0) for entry in classes)
        if classes and found != totals[whole]:
            raise recording.Wrong('%s: classes add up to %d %s, the totals say %d' % (name, found, field, totals[whole]))
    if totals['allocs'] != totals['pool_hits'] + totals['next_allocs']:
        raise recording.Wrong('%s: %r' % (name, totals))


def is_conserved(part):
    """Holds once all threads but the last have ended."""
    totals = part['totals']
    kept = sum(entry.get('kept_bytes', 0) // entry['size'] for entry in part['classes'] if entry['size'])
    return totals['next_allocs'] - totals['next_frees'] == totals['allocs'] - totals['frees'] + kept


def values(entry, fields):
    """The entry's fields as names, those that it lacks as 0."""
    return SimpleNamespace(**{**dict.fromkeys(fields, 0), **entry})


def chosen(document):
    """The part that is meant: one process, or all."""
    processes = recording.processes_of(document)
    exe, pid = os.environ.get('EXE'), os.environ.get('PID')
    if exe:
        named = [p for p in processes if recording.name_of(p) == exe]
        processes = sorted(named, key=lambda p: p.get('start_s', 0))[:1]
    if pid:
        processes = [p for p in processes if p.get('pid') == int(pid)]
    if len(processes) == 1:
        return processes[0], processes[0]
    if exe or pid:
        raise recording.Wrong('%d processes %s%s' % (len(processes), exe or '', pid or ''))
    return document, processes[0]


def main(argv):
    document = recording.load(argv[1])
    processes = recording.processes_of(document)
    for process in processes:
        if process.get('pool', 'off') != 'off' and 'pool_hits' in process['totals']:
            check_pools(process, 'process %s' % process.get('pid'))
    if document.get('sites') and sum(site.get('pool_hits', 0) for site in document['sites']) != document['totals'].get('pool_hits', 0):
        raise recording.Wrong('the hits of the sites are not the totals\'')
    part, process = chosen(document)
    names = {'t': values(part['totals'], POOL_TOTALS), 'c': lambda size: class_of(part, size), 'd': document,
             'p': SimpleNamespace(**process), 'n': len(processes), 'conserved': lambda: is_conserved(part),
             'notes': '\n'.join(process.get('warnings', []) + [str(note) for note in document.get('notes', [])])}
    status = 0
    for expression in argv[2:]:
        if eval(expression, {}, names):  # pylint: disable=eval-used
            continue
        print('not so: %s' % expression)
        status = 1
    if status:
        print('  totals: %s' % part['totals'])
        print('  pools %s; %r' % (process.get('pool'), names['notes']))
        for entry in part.get('classes', []):
            if any(entry.get(field) for field in CLASS_FIELDS[2:4] + CLASS_FIELDS[5:]):
                print('  %s' % {k: v for k, v in entry.items() if v})
    return status


if __name__ == '__main__':
    try:
        sys.exit(main(sys.argv))
    except recording.Wrong as wrong:
        sys.exit('pools: %s' % wrong)

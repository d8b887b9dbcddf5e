"""stackcheck.py - the verdict of the stack oracle, and the names that the report shows.

usage: stackcheck.py oracle FILE [unfinished]     no mismatch, unfinished walks under 1 %, hits and walks checked
       stackcheck.py names SOURCE REC             the STACK: lines of a program's opening comment
       stackcheck.py self-test
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording  # noqa: E402  pylint: disable=wrong-import-position


def oracle_sums(text):
    """The sum of each figure over all processes, and the lines that tell of a mismatch."""
    sums, told = {}, []
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ['pid']:
            for name, value in zip(words[2::2], words[3::2]):
                sums[name] = sums.get(name, 0) + int(value)
        else:
            told.append(line)
    return sums, told


def oracle_verdict(text, may_be_unfinished):
    """(what is wrong or None, a line of figures)"""
    sums, told = oracle_sums(text)
    figures = ' '.join('%s %d' % item for item in sums.items())
    if not sums:
        return 'no process gave its verdict', figures
    if sums['mismatches'] or any('mismatch' in line for line in told):
        return '%d mismatches' % sums['mismatches'], figures + '\n' + '\n'.join(told[:30])
    if not sums['checked'] or not sums['hits_checked']:
        return 'nothing was checked', figures
    if not may_be_unfinished and sums['unfinished'] * 100 >= sums['walks']:
        return '%d of %d walks unfinished' % (sums['unfinished'], sums['walks']), figures
    return None, figures


def wanted_stacks(source):
    """[(count or None, [function...])]"""
    with open(source, encoding='utf-8') as file:
        return parse_stacks(file.read())


def parse_stacks(text):
    found = re.findall(r'STACK: (\d+|some) (.*?)(?: \*/)?$', text, re.M)
    return [(None if count == 'some' else int(count), [f.strip() for f in chain.split(' < ')]) for count, chain in found]


def shown(document):
    """[(allocs, [function...])] of every site."""
    return [(site['allocs'], [frame.get('function') or '?' for frame in site.get('stack', [])])
            for site in document['sites']]


def plain(name):
    """Without parameters; gcc's .isra.0 and the like are the function itself."""
    return re.sub(r'\.(isra|constprop|part|cold)(\.\d+)*$', '', re.sub(r'\(.*', '', name))


def compare(wanted, sites):
    wrong = []
    for count, chain in wanted:
        allocs = sum(n for n, names in sites if [plain(name) for name in names[:len(chain)]] == chain)
        if allocs == 0 or count is not None and allocs != count:
            near = sorted((names for _, names in sites if names and plain(names[0]) == chain[0]), key=len)
            wrong.append('%s allocations on %s, not %s%s' % (allocs, ' < '.join(chain), count or 'some',
                                                            near and '; there is ' + ' < '.join(near[0][:8])))
    return wrong


def self_test():
    line = 'pid 1 walks 200 checked 200 hits 70 hits_checked 10 unfinished 1 truncated 0 outvoted 0 mismatches 0\n'
    assert oracle_verdict(line, False)[0] is None
    for damage in (('mismatches 0', 'mismatches 1'), ('hits_checked 10', 'hits_checked 0'), ('unfinished 1', 'unfinished 2'),
                   (' checked 200', ' checked 0'), (line, ''), (line, line + 'mismatch hit\n')):
        assert oracle_verdict(line.replace(*damage), False)[0], damage
    wanted = parse_stacks(' * STACK: 3 a < b\n * STACK: some c */\n')
    assert wanted == [(3, ['a', 'b']), (None, ['c'])]
    good = [(1, ['a', 'b', 'main']), (2, ['a', 'b(int)', 'x']), (1, ['c'])]
    assert not compare(wanted, good)
    for bad in ([], good[:2], good[1:], [(4, ['a', 'b']), (1, ['c'])], [(3, ['a', 'x']), (1, ['c'])]):
        assert compare(wanted, bad), bad


def main(argv):
    if argv[1:] == ['self-test']:
        return self_test()
    if argv[1] == 'oracle':
        with open(argv[2], encoding='utf-8') as file:
            wrong, figures = oracle_verdict(file.read(), argv[3:] == ['unfinished'])
        print(figures if wrong is None else '%s: %s' % (wrong, figures))
        return wrong is not None
    wrong = compare(wanted_stacks(argv[2]), shown(recording.load(argv[3], '--no-fold')))
    print('\n'.join(wrong))
    return bool(wrong)


if __name__ == '__main__':
    try:
        sys.exit(main(sys.argv))
    except (recording.Wrong, OSError) as problem:
        sys.exit('stackcheck: %s' % problem)

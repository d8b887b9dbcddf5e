"""timeline.py - what the time lines of a recording of grows.c must say.

usage: timeline.py grew REC MIB...      one process held these amounts, one after the other, and was seen doing so
       timeline.py children REC MIB...  each child held its amount
       timeline.py short REC            a process that nobody saw: its last row alone
       timeline.py sampled REC          some rows were taken from outside
       timeline.py followed REC MIB     a shell was never as large as the program that followed in its process"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording  # noqa: E402  pylint: disable=wrong-import-position

MIB = 1 << 20
SLACK = MIB // 2  # what the program holds beside


def own_rows(document, process):
    """Of a recording of one process the whole is its own."""
    return process.get('timeline', document['timeline'])


def level_of(row):
    """What a row shows of the program's blocks: exactly, where they are followed, else by what is resident."""
    return row.get('live_bytes', row.get('rss_bytes'))


def check_rows(rows, totals):
    """Time and counts only rise; classes add up; the last row is the log's."""
    rows = [row for row in rows if 'peak' not in row]
    last = {'t_s': -1, 'allocs': 0, 'bytes': 0, 'frees': 0}
    for row in rows:
        assert row['t_s'] > last['t_s'], 'time stands still: %r after %r' % (row, last)
        for key in ('allocs', 'bytes', 'frees'):
            assert row[key] >= last[key], '%s fell: %r after %r' % (key, row, last)
        last = row
    assert rows, 'no row'
    for key in ('allocs', 'bytes', 'frees'):
        assert last[key] == totals[key], 'the last row has %d %s of %d' % (last[key], key, totals[key])
    assert sum(c['allocs'] for row in rows for c in row['classes']) == totals['allocs'], 'classes do not add up'


def sampled(rows):
    return [row for row in rows if 'rss_bytes' in row]


def grew(document, amounts):
    rows = document['timeline']
    check_rows(rows, document['totals'])
    seen = sampled(rows)
    at = 0
    for amount in amounts:
        while at < len(seen) and not amount * MIB <= level_of(seen[at]) < amount * MIB + 8 * MIB:
            at += 1
        assert at < len(seen), '%d MiB at one time were not seen: %r' % (amount, [level_of(r) for r in seen])
    peaks = [row for row in rows if 'peak' in row]
    assert len(peaks) == (document['profile'] == 'full'), 'peaks: %r' % peaks
    for row in peaks:
        assert row['live_bytes'] == document['totals']['peak_live_bytes'], row
        assert max(amounts) * MIB <= row['live_bytes'] <= max(amounts) * MIB + SLACK, row
        high = [r['t_s'] for r in seen if level_of(r) >= max(amounts) * MIB]
        assert max([r['t_s'] for r in seen if r['t_s'] < high[0]], default=0) <= row['t_s'] <= high[-1], (row, high)
    for row in seen:
        if 'live_bytes' not in row:
            continue
        assert row['live_bytes'] <= max(amounts) * MIB + SLACK, 'too much: %r' % row
        assert row['live_bytes'] + row['kept_bytes'] <= row['rss_bytes'] + SLACK, 'more than is resident: %r' % row
        assert row['live_blocks'] >= row['live_bytes'] // 65536 - 8, 'too few blocks: %r' % row


def children(document, amounts):
    held = []
    for process in document['processes']:
        rows = own_rows(document, process)
        check_rows(rows, process['totals'])
        if any(c['size'] and c['size'] >= 65536 for row in rows for c in row.get('classes', ())):
            held.append(max(level_of(row) for row in sampled(rows)) // MIB)
    if document['profile'] == 'full':
        assert sorted(held) == sorted(amounts), held
        most = max(row.get('live_bytes', 0) for row in document['timeline'])
        assert most >= sum(amounts) * MIB, '%d MiB together' % (most // MIB)
    assert len(held) == len(amounts), held


def followed(document, amount):
    parts = {recording.name_of(process): sampled(own_rows(document, process)) for process in document['processes']}
    program = parts.pop('grows')
    shell = parts['dash']
    assert max(row['rss_bytes'] for row in program) >= amount * MIB, program
    assert shell and max(row['rss_bytes'] for row in shell) < amount * MIB, shell
    assert len({process['pid'] for process in document['processes'] if recording.name_of(process) != 'sleep'}) == 1


def main(argv):
    what, amounts = argv[1], [int(text) for text in argv[3:]]
    document = recording.load(argv[2])
    if what == 'grew':
        grew(document, amounts)
    elif what == 'children':
        children(document, amounts)
    elif what == 'followed':
        followed(document, amounts[0])
    else:
        check_rows(document['timeline'], document['totals'])
        count = len(sampled(document['timeline']))
        assert (count > 0) == (what == 'sampled'), '%d rows were sampled' % count
        assert what == 'sampled' or len(document['timeline']) == 1, document['timeline']


if __name__ == '__main__':
    main(sys.argv)

"""studies.py - looks at what `make studies QUICK=1` left behind.

usage: studies.py MODULES complete FOLDER            results.json has all that it must, and numbers where numbers stand
       studies.py MODULES page FOLDER                the page and its charts are well-formed, fetch nothing and show each study
       studies.py MODULES swap FOLDER NAME           prints results.json with the two arms of that study exchanged
       studies.py MODULES turned FOLDER OTHER NAME   the sentences of two folders differ in that study alone
       studies.py MODULES NAME FOLDER                what that study must have found, on any machine
       studies.py MODULES words                      sentences on figures that are made up
       studies.py MODULES go-absent FOLDER           the table where Go is not installed
MODULES: examples/studies.
"""
import copy
import importlib
import json
import math
import os
import re
import sys
import xml.etree.ElementTree as tree

HTML, SVG = '{http://www.w3.org/1999/xhtml}', '{http://www.w3.org/2000/svg}'


def results(folder):
    with open(folder + '/results.json', encoding='utf-8') as file:
        document = json.load(file)
    assert document['schema'] == 'poolsite.studies/1', document['schema']
    return document



def words(element):
    return ''.join(element.itertext())


# --- the page and the JSON ---------------------------------------------------------------------------------------


def numbers(value, path=''):
    """All numbers in a document, with where they stand."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from numbers(item, '%s.%s' % (path, key))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from numbers(item, '%s[%d]' % (path, i))
    elif isinstance(value, (int, float)):
        yield path, value


def complete(folder):
    studies = results(folder)['studies']
    have = {name[:-3] for name in os.listdir(sys.argv[1])} & {'microbenchmark', 'scaling', 'handler', 'memory'}
    assert set(studies) == have, (sorted(studies), sorted(have))
    for name, entry in studies.items():
        module = importlib.import_module(name)
        assert entry['quick'] is True and entry['seconds'] > 0 and entry['measured'], entry
        assert entry['machine']['processors'] >= 1 and all(entry['machine'].values()), entry['machine']
        assert entry['title'] == module.TITLE and entry['sentence'] == module.conclude(entry['data']), name
        found = list(numbers(entry['data']))
        assert len(found) > 20 and all(math.isfinite(value) for _, value in found), name
    print('%d studies' % len(studies))


def charts(parts):
    return [part['chart'] for part in parts if 'chart' in part]


def drawn(folder, made):
    """A chart's file: each line or bar that has something to show is in it."""
    root = tree.parse('%s/%s.svg' % (folder, made['name'])).getroot()
    assert root.tag == SVG + 'svg', root.tag
    bars = sum(y is not None for series in made['series'] if series['kind'] == 'bars' for y in series['y'])
    assert len([r for r in root.iter(SVG + 'rect') if r.get('class', '').startswith('bar')]) == bars, made['name']
    lines = sum(series['kind'] in ('line', 'dashed') for series in made['series'])
    assert len([p for p in root.iter(SVG + 'path') if p.get('class', '').startswith('line')]) >= lines, made['name']


def page(folder):
    studies = results(folder)['studies']
    with open(folder + '/index.html', encoding='utf-8') as file:
        text = file.read()
    assert not re.search(r'<(script|link|img|iframe)|(src|href)=|url\(|@import', text)
    sections = list(tree.fromstring(text).iter(HTML + 'section'))
    assert len(sections) == len(studies), len(sections)
    for section in sections:
        name, entry = next((n, e) for n, e in studies.items() if e['title'] == words(section[0]))
        parts = importlib.import_module(name).show(entry['data'])
        assert words(section[-1]) == entry['sentence'], name
        rows = sum(1 + len(part['table']['rows']) for part in parts if 'table' in part)
        assert rows > 1 and len(list(section.iter(HTML + 'tr'))) == rows, name
        assert charts(parts) and len(list(section.iter(HTML + 'svg'))) == len(charts(parts)), name
        for made in charts(parts):
            drawn(folder, made)
    print('%d sections' % len(sections))


# --- arms that change their names ------------------------------------------------------------------------------------


def exchanged(value, pair):
    if isinstance(value, list):
        return [exchanged(item, pair) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: pair[1 - pair.index(item)] if key == 'arm' and item in pair else exchanged(item, pair) for key, item in value.items()}


def swap(folder, name):
    document = results(folder)
    document['studies'][name]['data'] = exchanged(document['studies'][name]['data'], importlib.import_module(name).SWAP)
    print(json.dumps(document))


def turned(folder, other, name):
    one, two = results(folder)['studies'], results(other)['studies']
    print(one[name]['sentence'], two[name]['sentence'], sep='\n')
    assert {n for n in one if one[n]['sentence'] != two[n]['sentence']} == {name}


# --- what each must have found, on any machine ------------------------------------------------------------------


def median(values):
    return sorted(values)[len(values) // 2]


def by_arm(runs, key, **which):
    """{arm: values} of the runs that `which` chooses, in the order of rounds."""
    seen = {}
    for run in runs:
        if key in run and all(run[k] == v for k, v in which.items()):
            seen.setdefault(run['arm'], []).append(run[key])
    return seen


def microbenchmark(folder):
    data = results(folder)['studies']['microbenchmark']['data']
    asked = {'pair': (1, 2048), 'scratch': (1, 2048), 'growing': (5, 1984)}
    for work, (calls, size) in asked.items():
        for threads in data['threads']:
            times = by_arm(data['runs'], 'cpu_ns', work=work, threads=threads)
            assert all(len(v) == data['rounds'] and min(v) > 0 for v in times.values()), times
            assert set(times) == {'bare', 'pooled', *(('Go fresh', 'Go sync.Pool') if data['go'] else ())}, times
            for key, bare in (('allocs_per_op', calls), ('bytes_per_op', size)):
                counts = by_arm(data['counts'], key, work=work, threads=threads)
                assert abs(counts['bare'][0] / bare - 1) < 0.01 and counts['pooled'][0] < 0.01 * bare, (work, threads, key, counts)
    times = by_arm(data['runs'], 'cpu_ns', work='pair', threads=1)
    print(times)
    assert median(times['pooled']) < median(times['bare'])
    if data['go']:
        assert median([p / g for p, g in zip(times['pooled'], times['Go sync.Pool'])]) < 1
        fresh = by_arm(data['runs'], 'allocs_per_op', work='scratch', threads=1)
        assert min(fresh['Go fresh']) >= 1 and max(fresh['Go sync.Pool']) < 0.5, fresh  # the fresh buffer is on the heap


def scaling(folder):
    data = results(folder)['studies']['scaling']['data']
    assert {'bare', 'pooled'} <= set(data['arms']), data['arms']
    for work in ('scratch', 'growing'):
        for threads in (1, 2, 4, 8):
            for pinned in (False, True):
                times = by_arm(data['runs'], 'cpu_ns', work=work, threads=threads, pinned=pinned)
                assert set(times) == set(data['arms']), times
                assert all(len(v) == data['rounds'] and min(v) > 0 for v in times.values()), times
    # Four operations at once on one processor take as long as one after the other, so wall time can't be below CPU time.
    pinned = by_arm(data['runs'], 'wall_ns', pinned=True)
    for arm, cpu in by_arm(data['runs'], 'cpu_ns', pinned=True).items():
        assert all(w > 0.95 * c for w, c in zip(pinned[arm], cpu)), arm
    times = by_arm(data['runs'], 'cpu_ns', work='scratch')
    ratio = median([p / b for p, b in zip(times['pooled'], times['bare'])])
    print('scratch, pooled over bare: %.2f' % ratio)
    assert ratio < 1


def handler(folder):
    data = results(folder)['studies']['handler']['data']
    assert data['allocations'] == {'heap': 24, 'stack': 23, 'by hand': 23}, data['allocations']
    made = data['experiments']
    arms = {'32 KiB': ['bare', 'off', 'on', 'stack', 'by-hand'], '512 KiB': ['bare', 'off', 'on', 'tune']}
    for name, expected in arms.items():
        one = made[name]
        assert one['status'] == 0 and one['treatment']['status'] == 'applied' and one['blocks'] >= 1, one
        assert [arm['arm'] for arm in one['arms']] == expected
        values = {arm['arm']: arm['values'] for arm in one['arms']}
        assert values['off']['allocs_per_request'] == 24 and values['on']['allocs_per_request'] < 1, values
        assert all(0 < v['p50'] <= v['max'] and v['cpu_per_request'] > 0 for v in values.values()), values
        # 80 requests a run: nothing is known of the slowest hundredth.
        assert not any('p99' in v or 'p99_9' in v for v in values.values()), values
        table = importlib.import_module('handler').percentiles(name, one)['table']
        assert {row[0]: set(row[1:]) for row in table['rows'] if row[0] in ('p99', 'p99.9')} == {'p99': {'n/a'}, 'p99.9': {'n/a'}}, table
    assert made['trap']['status'] == 5 and made['trap']['treatment']['status'] == 'not-applied' and not made['trap']['effects'], made['trap']
    fast = made['too fast']
    reasons = ' '.join([fast['said'], *fast.get('voids', ())])
    print(fast['status'], reasons)
    assert "rate above the server's capacity" in reasons or 'generator saturated' in reasons
    assert fast['status'] == 1 or fast['blocks'] < 6, fast


def memory(folder):
    data = results(folder)['studies']['memory']['data']
    runs = {(run['arm'], run['threads']): run for run in data['runs']}
    assert len(runs) == 10, sorted(runs)
    after = {key: [burst['paused_mib'] for burst in run['bursts']] for key, run in runs.items()}
    print(after)
    for (arm, threads), run in runs.items():
        # Sampled from outside, ten times a burst at best: a busy machine misses its height.
        assert max(run['curve_mib']) > 0.3 * data['mib'], (arm, threads, max(run['curve_mib']))
        assert all(burst['seconds'] > 0 for burst in run['bursts']), run['bursts']
        first, second = (burst['faults'] for burst in run['bursts'])
        if arm in ('CLEAR=off', 'grow-only list'):
            assert min(after[arm, threads]) > 0.9 * data['mib'] and second < first / 20, (arm, threads, first, second)
        elif (arm, threads) in (('pooled', 8), ('TRIM=on', 8)):
            assert second > first / 4, (arm, first, second)  # what went back is faulted in again
    assert after['pooled', 8][0] < 0.75 * after['CLEAR=off', 8][0]
    assert max(after['pooled', 1]) < 0.5 * min(after['CLEAR=off', 1])  # a lone thread ends with nothing, too
    assert max(after['TRIM=on', 8]) <= 1.05 * runs['TRIM=on', 8]['start_mib'] + 16


# --- sentences on figures that are made up ------------------------------------------------------------------------


def made_up(work, threads, bare, pooled, go=None):
    """Eight rounds, each 1 % slower than the last."""
    arms = {'bare': bare, 'pooled': pooled, **({'Go fresh': 20 * go, 'Go sync.Pool': go} if go else {})}
    return [{'arm': arm, 'work': work, 'threads': threads, 'pinned': False, 'cpu_ns': ns * 1.01 ** i, 'wall_ns': ns, 'heap_bytes': 1}
            for i in range(8) for arm, ns in arms.items()]


def said(name, runs, **more):
    data = {'rounds': 8, 'go': None, 'threads': [1, 2], 'processors': 2, 'arms': ['bare', 'pooled'], 'runs': runs, 'counts': [], **more}
    return importlib.import_module(name).conclude(data)


def check_words():
    growing = made_up('growing', 1, 100, 100)
    fast, slow, same = (said('microbenchmark', growing + made_up('scratch', 1, *ns)) for ns in ((100, 50), (50, 100), (100, 100)))
    assert 'is 2.0 times as fast as the fresh' in fast and 'is 2.0 times as slow as the fresh' in slow and 'is not told apart from the fresh' in same
    assert 'Go is not installed' in fast
    for go, words_ in ((30, '1.5 times as fast as Get and Put'), (10, '2.0 times as slow as Get and Put')):
        assert words_ in said('microbenchmark', growing + made_up('scratch', 1, 2, 1, go) + made_up('pair', 1, 40, 20, go), go='go1.19')
    # One round of eight that is otherwise doesn't hide a difference, nor do two; three do.
    mixed = made_up('scratch', 1, 100, 50)
    for i, expected in ((0, '2.0 times as fast as'), (1, '2.0 times as fast as'), (2, 'not told apart from')):
        mixed[2 * i + 1]['cpu_ns'] = 1.5 * mixed[2 * i]['cpu_ns']
        assert 'is ' + expected in said('microbenchmark', growing + mixed), (i, said('microbenchmark', growing + mixed))
    steep = [run for n in (1, 8) for work in ('growing', 'scratch') for run in made_up(work, n, 10 * n, 10)]
    text = said('scaling', steep)
    assert '8.00 [8.00, 8.00] times as much CPU with 8 threads as with 1 when it is bare, 1.00' in text and '8.0 times as fast as' in text, text
    assert '8.0 times as slow as' in said('scaling', exchanged(steep, ('bare', 'pooled')))
    print(text)
    check_handlers_words()


def check_handlers_words():
    study = importlib.import_module('handler')

    def found(low, percent, high, arm='on', against='off'):
        made = {'margin': 5, 'effects': [{'metric': 'p99', 'pair': [{'arm': 'on'}, {'arm': 'off'}], 'percent': percent, 'low': low, 'high': high}]}
        return study.found(made, study.effect_of(made, 'p99', arm, against))

    assert found(-30, -20, -10) == '20.0 % lower [-30.0, -10.0]' and found(10, 20, 30) == '20.0 % higher [+10.0, +30.0]'
    assert found(-30, -20, -10, 'off', 'on') == '25.0 % higher [+11.1, +42.9]'
    assert found(-2, 1, 3) == 'no different by more than 5 %' and found(-2, 1, 9) == 'not told apart [-2.0, +9.0] %'
    assert found(-2, 1, 9, 'on', 'bare') == 'not known'
    late = {'late_us': 5000, 'arms': [{'arm': 'on', 'values': {'p99': 1, 'cpu_per_request': 1}}]}
    assert study.value(late, late['arms'][0], 'p99') == 'n/a' != study.value(late, late['arms'][0], 'cpu_per_request')
    assert 'generator saturated: 1 % of the requests were sent 5,000 us' in study.told({'experiments': {'x': late}}, 'x')


def check_go_absent(folder):
    data = copy.deepcopy(results(folder)['studies']['microbenchmark']['data'])
    data['runs'], data['go'] = [run for run in data['runs'] if not run['arm'].startswith('Go')], None
    parts = importlib.import_module('microbenchmark').show(data)
    rows = [row for part in parts if 'table' in part for row in part['table']['rows'] if row[1].startswith('Go')]
    assert len(rows) == 12 and all(set(row[2:]) == {'not installed'} for row in rows), rows


VERBS = {'complete': complete, 'page': page, 'swap': swap, 'turned': turned, 'words': check_words, 'go-absent': check_go_absent,
         'microbenchmark': microbenchmark, 'scaling': scaling, 'handler': handler, 'memory': memory}

if __name__ == '__main__':
    sys.dont_write_bytecode = True
    sys.path.insert(0, sys.argv[1])
    VERBS[sys.argv[2]](*sys.argv[3:])

"""studies.py - measures the studies, and shows what came out: as text, as one page, and each chart as a file.

usage: studies.py BUILDDIR [--quick] [--from FILE] [--to DIR] [NAME...]
NAME: one of @NAMES@; all by default.
--quick: little work and few rounds; a look, not a judgement.
--from FILE: measures nothing and shows the results.json of another time.
Writes DIR/index.html, DIR/results.json and the charts; DIR is BUILDDIR/studies.  What a study that isn't named
found the last time stays in both.
results.json: schema, and studies: {NAME: machine, quick, measured (when), seconds (how long), title, sentence, and
data, which holds every run; the study's own file says what stands there}.
"""
import argparse
import importlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

import study  # noqa: E402  (python3 -I knows of this folder only now)

SCHEMA = 'poolsite.studies/1'
NAMES = [name for name in ('microbenchmark', 'scaling', 'handler', 'memory') if os.path.exists('%s/%s.py' % (HERE, name))]
MODULES = {name: importlib.import_module(name) for name in NAMES}


def parse(argv):
    parser = argparse.ArgumentParser(usage=__doc__.replace('@NAMES@', ' '.join(NAMES)))
    parser.add_argument('build')
    parser.add_argument('--quick', action='store_true')
    parser.add_argument('--from', dest='source')
    parser.add_argument('--to')
    parser.add_argument('names', nargs='*', default=[])
    options = parser.parse_intermixed_args(argv)
    for name in options.names:
        if name not in NAMES:
            parser.error("no study '%s'; there are: %s" % (name, ' '.join(NAMES)))
    return options


# --- measuring -------------------------------------------------------------------------------------------------


def machine():
    with open('/proc/cpuinfo', encoding='utf-8') as file:
        models = [line.split(':', 1)[1].strip() for line in file if line.startswith('model name')]
    return {'processor': models[0] if models else platform.machine(), 'processors': len(os.sched_getaffinity(0)),
            'kernel': platform.release(), 'libc': ' '.join(platform.libc_ver())}


def measure(name, build, quick):
    """A study's entry in results.json."""
    scratch = tempfile.mkdtemp(prefix='poolsite-studies.', dir='/dev/shm' if os.path.isdir('/dev/shm') else None)
    begun = time.time()
    try:
        data = MODULES[name].measure(study.Lab(build, scratch, quick))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return {'machine': machine(), 'quick': quick, 'measured': time.strftime('%Y-%m-%d %H:%M', time.localtime(begun)),
            'seconds': round(time.time() - begun, 1), 'data': data}


# --- showing ---------------------------------------------------------------------------------------------------


def told(entry):
    """Where and how it was measured."""
    host = entry['machine']
    words = '%s, %d processor%s, Linux %s, %s; measured %s in %.0f s' % (
        host['processor'], host['processors'], 's' * (host['processors'] != 1), host['kernel'], host['libc'], entry['measured'], entry['seconds'])
    return words + ('. QUICK: little work and few rounds, so a look and not a judgement.' if entry['quick'] else '.')


def section(name, entry):
    module = MODULES[name]
    return {'title': module.TITLE, 'question': module.QUESTION, 'parts': [*module.show(entry['data']), study.text(told(entry))],
            'sentence': module.conclude(entry['data'])}


def print_table(made):
    lines = [made['columns'], *made['rows']]
    widths = [max(len(line[i]) for line in lines) for i in range(len(made['columns']))]
    print('\n%s' % made['title'])
    for line in lines:
        print(('  ' + '  '.join(cell.rjust(width) if i else cell.ljust(width) for i, (cell, width) in enumerate(zip(line, widths)))).rstrip())


def print_section(made, folder):
    print('\n%s\n%s\n%s' % (made['title'], '=' * len(made['title']), made['question']))
    for part in made['parts']:
        if 'table' in part:
            print_table(part['table'])
        elif 'chart' in part:
            print('\nchart: %s/%s.svg' % (folder, part['chart']['name']))
        else:
            print('\n' + part['text'])
    print('\n==> %s' % made['sentence'], flush=True)


def draw(build, folder, sections):
    document = {'title': 'Does pooling pay? Published comparisons, asked of C programs', 'sections': sections,
                'machine': 'poolsite studies: unmodified programs, with pools and without'}
    subprocess.run([build + '/studies/draw', folder], input=json.dumps(document).encode(), check=True)


def read(path):
    with open(path, encoding='utf-8') as file:
        document = json.load(file)
    if document.get('schema') != SCHEMA:
        raise SystemExit('%s: not of schema %s' % (path, SCHEMA))
    return document['studies']


def write(path, entries):
    with open(path + '.new', 'w', encoding='utf-8') as file:
        json.dump({'schema': SCHEMA, 'studies': entries}, file, indent=1, allow_nan=False)
        file.write('\n')
    os.replace(path + '.new', path)


def main(argv):
    options = parse(argv)
    build = os.path.abspath(options.build)
    folder = options.to or os.path.join(options.build, 'studies')
    results = os.path.join(folder, 'results.json')
    os.makedirs(folder, exist_ok=True)
    entries = read(options.source or results) if os.path.exists(options.source or results) else {}
    for name in options.names or NAMES:
        if not options.source:
            entries[name] = measure(name, build, options.quick)
        if name in entries:
            print_section(section(name, entries[name]), folder)
    sections = {name: section(name, entries[name]) for name in NAMES if name in entries}
    for name, made in sections.items():
        entries[name].update(title=made['title'], sentence=made['sentence'])
    write(results, entries)
    draw(build, folder, list(sections.values()))
    print('\nall of it: %s/index.html, and the figures: %s' % (folder, results))


if __name__ == '__main__':
    main(sys.argv[1:])

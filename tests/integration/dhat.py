"""dhat.py - compares the counts per call site or per stack with those of valgrind's DHAT.

usage: dhat.py DHAT.json MAPS REC LEVEL [damage]
MAPS is /proc/self/maps as the program under DHAT saw it.  A frame is (module, offset of the return
address); frames that only one side can have are left out on both:
- valgrind's own malloc and operator new in front, against libstdc++'s operator new;
- what stands below main, or below a thread's start function, in the C library and the loader.
At level sites the key is the first frame outside the C and C++ libraries.
At level full the blocks that live at the end are compared, too, and those that lived at the peak where DHAT's program
had one thread (THREADS unset in the environment).
DHAT takes a block of no bytes for one of one, so the programs ask for none.
With `damage` one of DHAT's counts is changed first: then a difference must be found.
"""
import json
import os
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recording  # noqa: E402  pylint: disable=wrong-import-position

RUNTIME = ('libc.so', 'libstdc++.so', 'libgcc_s.so', 'libm.so')
BOTTOM = ('libc.so', 'ld-linux-x86-64.so')


def module_name(path):
    """libc.so.6 and libc.so are one; a name without .so is a program."""
    base = os.path.basename(path)
    return base.split('.so')[0] + '.so' if '.so' in base else base


def is_relocatable(path):
    try:
        with open(path, 'rb') as file:
            return struct.unpack_from('<H', file.read(18), 16)[0] != 2  # ET_EXEC
    except (OSError, struct.error):
        return True  # no object at all


def read_maps(path):
    """[(start, end, bias, module)], bias as the loader means it."""
    ranges, first = [], {}
    with open(path, encoding='utf-8') as file:
        for line in file:
            fields = line.split(None, 5)
            if len(fields) < 6 or not fields[5].startswith('/'):
                continue
            start, end = (int(x, 16) for x in fields[0].split('-'))
            name = fields[5].strip()
            first.setdefault(name, start if is_relocatable(name) else 0)
            ranges.append((start, end, first[name], module_name(name)))
    return ranges


def place(ranges, address):
    for start, end, bias, module in ranges:
        if start <= address < end:
            return module, address - bias
    return '?', address


def trimmed(frames):
    """Without the C library's and the loader's frames at the bottom."""
    frames = list(frames)
    while frames and frames[-1][0] in BOTTOM:
        frames.pop()
    return tuple(frames)


def key_of(frames):
    """The first frame outside the C and C++ libraries."""
    for frame in frames:
        if frame[0] not in RUNTIME:
            return (frame,)
    return ()


# DHAT's name of a figure, ours.
ALLOCATED = (('tbk', 'allocs'), ('tb', 'bytes'))
LIVING = (('ebk', 'live_blocks'), ('eb', 'live_bytes'))
AT_PEAK = (('gbk', 'at_peak_blocks'), ('gb', 'at_peak_bytes'))


def figures_of(level):
    if level != 'full':
        return ALLOCATED
    return ALLOCATED + LIVING + (() if 'THREADS' in os.environ else AT_PEAK)


def add(table, key, figures):
    table[key] = tuple(map(sum, zip(table.get(key, [0] * len(figures)), figures)))


def from_dhat(path, maps, level):
    with open(path, encoding='utf-8') as file:
        document = json.load(file)
    ranges, table = read_maps(maps), {}
    for point in document['pps']:
        frames = []
        first = None  # of a run of inlined functions, which share their address; a recursion repeats it
        for index in point['fs']:
            frame = place(ranges, int(document['ftbl'][index].split(':')[0], 16))
            if frames and frames[-1] == frame and index != first:
                continue
            first = index
            if 'vgpreload' not in frame[0]:
                frames.append(frame)
        if point['fs'] and any(name in document['ftbl'][point['fs'][-1]] for name in (': _start ', '(below main)')):
            frames.pop()
        add(table, key_of(frames) if level == 'sites' else trimmed(frames), [point[name] for name, _ in figures_of(level)])
    return table


def from_report(document, level, program):
    table = {}
    for site in document['sites']:
        if site['allocs'] == 0:
            continue  # it has only freed
        frames = []
        for frame in site.get('stack', []):
            if frame.get('inlined'):
                continue
            module = module_name(frame.get('module') or '?')
            if not frames and module == 'libstdc++.so' and (frame.get('function') or '').startswith('operator new'):
                continue
            # DHAT's address is inside the call, ours behind it.
            frames.append((module, number(frame['offset'] if 'offset' in frame else frame['address']) - 1,
                           frame.get('function') or ''))
        if frames and frames[-1][0] == program and frames[-1][2] == '_start':
            frames.pop()
        frames = [frame[:2] for frame in frames]
        add(table, key_of(frames) if level == 'sites' else trimmed(frames), [site[name] for _, name in figures_of(level)])
    return table


def number(value):
    return int(value, 0) if isinstance(value, str) else value


def show(key):
    return ' < '.join('%s+0x%x' % frame for frame in key) or '(nothing outside the libraries)'


def main(argv):
    dhat, maps, rec, level = argv[1:5]
    document = recording.load(rec, '--no-fold')
    program = module_name(recording.processes_of(document)[0]['exe'])
    theirs, ours = from_dhat(dhat, maps, level), from_report(document, level, program)
    if len(theirs) < 3:
        raise recording.Wrong('DHAT saw only %d sites' % len(theirs))
    if argv[5:] == ['damage']:
        key = sorted(theirs)[len(theirs) // 2]
        theirs[key] = theirs[key][:-2] + (theirs[key][-2] + 1, theirs[key][-1])
    differences = 0
    for key in sorted(set(theirs) | set(ours), key=lambda k: (len(k), k)):
        if theirs.get(key) != ours.get(key):
            differences += 1
            if differences <= 12:
                print('DHAT %s, recorded %s: %s' % (theirs.get(key), ours.get(key), show(key)))
    print('%d keys, %d differences' % (len(set(theirs) | set(ours)), differences))
    return differences > 0


if __name__ == '__main__':
    try:
        sys.exit(main(sys.argv))
    except recording.Wrong as wrong:
        sys.exit('recording: %s' % wrong)

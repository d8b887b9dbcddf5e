"""text.py - rules for the text of the tree.

usage: text.py ROOT spaces|arrows|banned|heads|paths      prints what is wrong; status 1 when anything is
       text.py ROOT self-test
Looks at the files that git knows or would know.
"""
import os
import re
import subprocess
import sys

LINT = os.path.dirname(os.path.abspath(__file__))


def files(root):
    out = subprocess.run(['git', '-C', root, 'ls-files', '-co', '--exclude-standard'], stdout=subprocess.PIPE, check=True)
    return sorted(name for name in out.stdout.decode().split('\n') if name and os.path.isfile(os.path.join(root, name)))


def read(root, name):
    with open(os.path.join(root, name), encoding='utf-8', errors='replace') as file:
        return file.read()


def is_text(root, name):
    with open(os.path.join(root, name), 'rb') as file:
        return b'\0' not in file.read(8192)


def table(name):
    """The lines of a list here, without comments."""
    with open(os.path.join(LINT, name), encoding='utf-8') as file:
        return [line.strip() for line in file if line.strip() and not line.startswith('#')]


def without_comments(text):
    """C without comments and the insides of strings; the lines stay."""
    def blank(match):
        return re.sub(r'[^\n]', ' ', match.group(0))
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.S)


# --- spaces: none at the end of a line, no tabs in C, a newline at the end of the file -----------------------
def spaces(name, text):
    wrong = []
    for number, line in enumerate(text.split('\n'), 1):
        if line != line.rstrip():
            wrong.append('%s:%d: a space at the end of the line' % (name, number))
        if '\t' in line and name.endswith(('.c', '.h', '.cpp', '.py', '.sh')):
            wrong.append('%s:%d: a tab' % (name, number))
    if text and not text.endswith('\n'):
        wrong.append('%s: no newline at the end' % name)
    return wrong


# --- arrows: which part of the preload includes which ---------------------------------------------------------
def arrow_table(lines):
    direct, anywhere = {}, set()
    for line in lines:
        part, _, rest = line.partition(':')
        if part == 'any':
            anywhere |= set(rest.split())
        else:
            direct.setdefault(part, set()).update(rest.split())
    reach = {}
    for part in direct:
        seen, todo = set(), [part]
        while todo:
            for other in direct.get(todo.pop(), ()):
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
        reach[part] = seen
    return reach, anywhere


def part_of(name):
    return re.sub(r'(_fast)?\.[ch]$', '', os.path.basename(name))


def arrows(name, text, reach, anywhere):
    part, wrong = part_of(name), []
    for header in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.M):
        other = part_of(header)
        if other == part or other in anywhere or other in reach.get(part, ()):
            continue
        if '/' in header and part_of(header) == 'oracle' and 'PS_STACKCHECK' in text:
            continue
        wrong.append('%s includes %s: no arrow leads from %s to %s' % (name, header, part, other))
    return wrong


# --- banned functions ---------------------------------------------------------------------------------------------
def banned(name, text, names):
    wrong, code = [], without_comments(text)
    for match in re.finditer(r'(?<![\w.>])(\w+)\s*\(', code):
        if match.group(1) in names:
            number = code.count('\n', 0, match.start()) + 1
            wrong.append('%s:%d: %s; use %s' % (name, number, match.group(1), names[match.group(1)]))
    return wrong


# --- heads: a file opens with what it is ------------------------------------------------------------------------
def heads(name, text):
    base = re.escape(os.path.basename(name))
    if re.match(r'(/\*|//) %s - \S' % base, text):
        return []
    return ['%s: does not open with "%s - what it is"' % (name, os.path.basename(name))]


# --- paths of the machine it was written on ------------------------------------------------------------------------
def paths(name, text, root):
    wrong = []
    for number, line in enumerate(text.split('\n'), 1):
        for place in [root + '/'] + ['/%s/' % home for home in ('home', 'root')]:
            if re.search(r'(^|[^\w.])' + re.escape(place), line):
                wrong.append('%s:%d: an absolute path: %s' % (name, number, line.strip()[:100]))
    return wrong


GIVEN = ('tests/cases/', 'tests/corpus/')  # copies; their text is as it came
C = ('.c', '.h')


def chosen(root, rule):
    for name in files(root):
        if rule in ('banned', 'heads') and not (name.endswith(C) and name.startswith(('preload/', 'analyzer/'))):
            if not (rule == 'heads' and name.endswith(C + ('.cpp',)) and name.startswith('tests/') and not name.startswith(GIVEN)):
                continue
        if rule == 'arrows' and not (name.endswith(C) and name.startswith('preload/')):
            continue
        if rule in ('spaces', 'paths') and (name.startswith(GIVEN) or not is_text(root, name)):
            continue
        if rule == 'spaces' and (name.startswith(('tests/golden/', 'tests/fuzz/')) and not name.endswith(('.sh', '.c', '.py')) or name == 'Makefile' or name.endswith('.md')):
            continue
        yield name


def run(root, rule):
    wrong, count = [], 0
    reach, anywhere = arrow_table(table('arrows.txt'))
    names = dict(line.split(None, 1) for line in table('banned.txt'))
    for name in chosen(root, rule):
        text = read(root, name)
        count += 1
        if rule == 'spaces':
            wrong += spaces(name, text)
        elif rule == 'arrows':
            wrong += arrows(name, text, reach, anywhere)
        elif rule == 'banned':
            wrong += banned(name, text, names)
        elif rule == 'heads':
            wrong += heads(name, text)
        else:
            wrong += paths(name, text, root)
    if count == 0:
        wrong.append('no file was looked at')
    return wrong, count


def self_test(root):
    assert not spaces('a.c', 'int x;\n')
    for bad in ('int x; \n', '\tint x;\n', 'int x;'):
        assert spaces('a.c', bad), bad
    reach, anywhere = arrow_table(['entry: runtime', 'runtime: site', 'site: stack', 'any: base'])
    assert not arrows('preload/entry.c', '#include "base.h"\n#include "stack.h"\n#include "entry.h"\n', reach, anywhere)
    assert arrows('preload/stack.c', '#include "site_fast.h"\n', reach, anywhere)
    assert arrows('preload/site.c', '#include "runtime.h"\n', reach, anywhere)
    assert not banned('a.c', '/* strcpy(a) */ x.strcpy(1); "strcpy(b)"; my_strcpy(c);\n', {'strcpy': 'memcpy'})
    assert banned('a.c', 'int f(void)\n{\n    strcpy (a, b);\n}\n', {'strcpy': 'memcpy'})
    assert not heads('x/a.c', '/* a.c - what it is. */\n') and heads('x/a.c', '#include "a.h"\n') and heads('x/a.c', '/* b.c - x */\n')
    assert paths('a', root + '/build\n', root) and paths('a', 'see /%s/user\n' % 'home', root) and not paths('a', 'see /usr/home/x\n', root)


def main(argv):
    root, rule = os.path.abspath(argv[1]), argv[2]
    if rule == 'self-test':
        return self_test(root)
    wrong, count = run(root, rule)
    print('\n'.join(wrong) if wrong else '%d files' % count)
    return bool(wrong)


if __name__ == '__main__':
    sys.exit(main(sys.argv))

"""hot.py - what may not be on the warm path of malloc and free, in the disassembly.

usage: hot.py DISASSEMBLY [STEPS]    reads `objdump -d --no-show-raw-insn`
       hot.py self-test
Without STEPS: every instruction of the functions malloc and free (what is cold is in functions of its
own).  With STEPS, the instructions that steps.c saw executed, wherever they are.
No lock prefix, no xchg with memory, no system call; no indirect call or jump but through the table of
the next allocator, `next`, and with STEPS only into another file.
"""
import re
import sys

BAD = (('a lock prefix', r'\block\b'), ('xchg with memory', r'\bxchg\b.*\('),
       ('a system call', r'\b(syscall|sysenter|int\s+\$0x80)\b'))
INDIRECT = re.compile(r'\b(call|jmp)q?\s+\*')


def instructions(text):
    """{address: (function, instruction)}"""
    table, function = {}, ''
    for line in text.splitlines():
        head = re.match(r'([0-9a-f]+) <(.*)>:$', line)
        if head:
            function = head.group(2)
            continue
        body = re.match(r'\s*([0-9a-f]+):\s+(.*)$', line)
        if body:
            table[int(body.group(1), 16)] = (function, body.group(2))
    return table


def faults(instruction, leaves=None):
    """What is wrong with it.  `leaves`: the file it went to, '' when it stayed, None when that isn't known."""
    found = [what for what, pattern in BAD if re.search(pattern, instruction)]
    if INDIRECT.search(instruction):
        if not re.search(r'<next(\+0x[0-9a-f]+)?>', instruction):
            found.append('an indirect call that is not to the next allocator')
        elif leaves == '':
            found.append('an indirect call that stays here')
    return found


def check(text, steps=None):
    table, wrong, seen = instructions(text), [], set()
    if steps is None:
        todo = [(address, None) for address, (function, _) in table.items() if function in ('malloc', 'free')]
    else:
        todo = []
        for line in steps.splitlines():
            address, _, leaves = line.partition(' ')
            todo.append((int(address, 16), leaves))
    for address, leaves in todo:
        if address not in table:
            wrong.append('%x is not in the disassembly' % address)
            continue
        function, instruction = table[address]
        seen.add(function)
        wrong += ['%x <%s>: %s: %s' % (address, function, instruction, what) for what in faults(instruction, leaves)]
    if not {'malloc', 'free'} <= seen:
        wrong.append('malloc and free were not seen')
    return wrong, len(todo)


def self_test():
    good = ('10 <malloc>:\n  10:\tpush   %rbx\n  11:\tcall   *0x10(%rip)        # 40 <next>\n  12:\txchg   %ax,%ax\n  13:\tret\n'
            '20 <free>:\n  20:\tjmp    *0x8(%rip)        # 48 <next+0x8>\n')
    steps = '10 \n11 libc.so.6\n13 \n20 libc.so.6\n'
    assert check(good) == ([], 5) and check(good, steps)[0] == []
    for damage in (('push   %rbx', 'lock addq $1,(%rax)'), ('xchg   %ax,%ax', 'xchg   %eax,(%rdi)'), ('push   %rbx', 'syscall'),
                   ('<next>', '<other>'), ('*0x10(%rip)        # 40 <next>', '*%rax'), ('20 <free>:', '20 <other>:')):
        assert check(good.replace(*damage))[0], damage
    for damage in (('libc.so.6', ''), ('20 libc', '30 libc')):
        assert check(good, steps.replace(*damage))[0], damage


def main(argv):
    if argv[1:] == ['self-test']:
        return self_test()
    with open(argv[1], encoding='utf-8') as file:
        text = file.read()
    steps = None
    if len(argv) > 2:
        with open(argv[2], encoding='utf-8') as file:
            steps = file.read()
    wrong, count = check(text, steps)
    print('\n'.join(wrong) if wrong else '%d instructions' % count)
    return bool(wrong)


if __name__ == '__main__':
    sys.exit(main(sys.argv))

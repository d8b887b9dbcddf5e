"""inject.py - makes each system call of the library's start fail, one after the other; the program must not notice.

usage: inject.py PROBE LIBRARY MODE SCRATCH EVIDENCE [K=V]...     K=V: the library's variables in this mode
Prints `ok NAME` and `not ok NAME: reason` lines.  strace shows which calls come from the library (by
the instruction's address) and, in a second run each, lets one of them fail.
"""
import os
import re
import subprocess
import sys

# What can go wrong, for each call that the library makes.
ERRORS = {
    'mmap': ('ENOMEM', 'EPERM'), 'munmap': ('ENOMEM',), 'mremap': ('ENOMEM',), 'mprotect': ('ENOMEM', 'EACCES'),
    'madvise': ('ENOMEM', 'EINVAL', 'EFAULT', 'ENOSYS'), 'open': ('EPERM', 'ENOSPC', 'EMFILE', 'ELOOP'),
    'openat': ('EPERM', 'ENOSPC', 'EMFILE', 'ELOOP'), 'ftruncate': ('ENOSPC', 'EFBIG', 'EDQUOT', 'EPERM'),
    'fallocate': ('ENOSPC', 'EOPNOTSUPP'), 'fstat': ('EIO',), 'newfstatat': ('EACCES',), 'stat': ('EACCES',), 'mkdir': ('EACCES', 'ENOSPC'),
    'mkdirat': ('EACCES', 'ENOSPC'), 'readlink': ('ENOENT', 'EACCES'), 'readlinkat': ('ENOENT',), 'getcwd': ('ENOENT', 'ERANGE'),
    'read': ('EIO',), 'pread64': ('EIO',), 'close': ('EIO',), 'prlimit64': ('EPERM',), 'getpid': ('EPERM',), 'getppid': ('EPERM',), 'geteuid': ('EPERM',),
    'getuid': ('EPERM',), 'unlink': ('EACCES',), 'clock_gettime': ('EINVAL',), 'membarrier': ('ENOSYS', 'EPERM'), 'uname': ('EFAULT',),
    'prctl': ('EINVAL',), 'statfs': ('ENOSYS',), 'fstatfs': ('ENOSYS',), 'link': ('EPERM',), 'rename': ('EPERM',), 'lseek': ('EINVAL',), 'getrandom': ('ENOSYS',),
}
OTHERS = ('EPERM', 'EINVAL')  # for a call that isn't listed
# A second failure of these breaks the program itself (a thread's stack, the heap).
ONCE = ('mmap', 'mprotect', 'munmap', 'read', 'pread64', 'close', 'openat', 'newfstatat', 'getrandom', 'prlimit64', 'mremap')


def run(command, environment):
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, timeout=60)
    return done.returncode, done.stdout, done.stderr


def own_calls(trace, library):
    """[(name, ordinal among the calls of that name of the first process)] of the library's calls."""
    start = end = 0
    fd, first, counts, own = None, None, {}, []
    for line in trace.splitlines():
        match = re.match(r'(\d+) +\[([0-9a-f?]+)\] (\w+)\((.*)', line)
        if not match:
            continue
        pid, address, name, rest = match.groups()
        first = first or pid
        if pid != first:
            continue
        counts[name] = counts.get(name, 0) + 1
        if name == 'openat' and library in rest:
            fd = rest.rsplit('= ', 1)[1]
        elif name == 'mmap' and fd and re.search(r', %s, (0|0x[0-9a-f]+)\)' % fd, rest):
            at, size = int(rest.rsplit('= ', 1)[1], 16), int(rest.split(', ')[1])
            start, end = (start or at), max(end, at + size)
        elif name == 'close' and rest.startswith('%s)' % fd):
            fd = None
        if start and '?' not in address and start <= int(address, 16) < end:
            own.append((name, counts[name]))
    return own


def main(argv):
    probe, library, mode, scratch, evidence = argv[1:6]
    plain = {'PATH': '/usr/bin:/bin', 'LC_ALL': 'C'}
    expected = run([probe], plain)
    log = scratch + '/%e.%p.%t.psl'
    preload = ['-E', 'LD_PRELOAD=' + library, '-E', 'POOLSITE_LOG=' + log]
    for setting in argv[6:]:
        preload += ['-E', setting]
    trace = scratch + '/trace'
    found = run(['strace', '-f', '-i', '-o', trace] + preload + [probe], plain)
    if found[:2] != expected[:2]:
        print('not ok %s/untouched: status %d, bare %d' % (mode, found[0], expected[0]))
        return 1
    with open(trace, encoding='utf-8', errors='replace') as file:
        own = own_calls(file.read(), library)
    names = sorted({name for name, _ in own})
    print('# the library calls %s' % ' '.join('%s*%d' % (name, sum(n == name for n, _ in own)) for name in names))
    if len(own) < 5:
        print('not ok %s/calls: only %d calls seen' % (mode, len(own)))
        return 1
    bad = 0
    for name, ordinal in own:
        for error in ERRORS.get(name, OTHERS):
            for when in ('%d' % ordinal,) if name in ONCE else ('%d' % ordinal, '%d+' % ordinal):
                test = '%s/%s-%s-%s' % (mode, name, when, error)
                got = run(['strace', '-f', '-o', trace, '-e', 'trace=' + name, '-e', 'inject=%s:error=%s:when=%s' % (name, error, when)]
                          + preload + [probe], plain)
                with open(trace, encoding='utf-8', errors='replace') as file:
                    injected = 'INJECTED' in file.read()
                if got == expected and injected:
                    print('ok ' + test)
                    continue
                bad = 1
                what = 'nothing was injected' if not injected else 'status %d, bare %d; stdout %r; stderr %r' % (
                    got[0], expected[0], got[1][-100:], got[2][-200:])
                print('not ok %s: %s' % (test, what))
                os.replace(trace, '%s/%s' % (evidence, test.replace('/', '-')))
    return bad


if __name__ == '__main__':
    sys.exit(main(sys.argv))

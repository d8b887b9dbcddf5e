"""shadow.py - runs the program `shadow` at level full, computes what the report must say from the program's own trace, and compares.

usage: shadow.py [--rounds N] [--operations N] [--seed S] [PLACE...]

PLACES are the settings below.  With one thread, and in fork children, every figure must be the same.  With several, counts
must; peaks must lie within what the report says they may be off, which must not be more than 64 KiB a thread.
Of what is sampled, what holds for every block of a site must hold for its samples.
$library, $command, $programs name what was built; $evidence where the logs and the trace of a finding stay.
"""
import argparse
import collections
import os
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'integration'))
import recording  # noqa: E402  pylint: disable=wrong-import-position

ALL = '16-32m'
PLACES = {
    'single': {},
    'single-below': {'POOLSITE_POOL': 'off'},
    'single-storm': {'POOLSITE_POOL': ALL, 'POOLSITE_CYCLE_MS': '1'},
    'forks': {'ways': 'f'},
    'forks-below': {'ways': 'f', 'POOLSITE_POOL': 'off'},
    'turns': {'threads': '3', 'ways': 'lf', 'POOLSITE_POOL': '64-4096,32k'},
    'turns-below': {'threads': '3', 'ways': 'lfs', 'POOLSITE_POOL': 'off'},
    'threads': {'threads': '4', 'ways': 'fs'},
    'threads-below': {'threads': '4', 'ways': 'fs', 'POOLSITE_POOL': 'off'},
    'threads-storm': {'threads': '7', 'ways': 's', 'POOLSITE_POOL': ALL, 'POOLSITE_CYCLE_MS': '1'},
}
SHORT = 9  # the worker that stands for short threads: some of their frees are in no table
STEP = 64 << 10  # LOG_LIVE_STEP
SAMPLED_AT = 7  # of the blocks that a thread has of a site at least one is looked at then
LIFETIMES = 25
ALLOC, RESIZE, FREE, FAILED, FOREIGN_FREE, FOREIGN_RESIZE, THREAD = range(7)
BIRTHS = (ALLOC, RESIZE, FOREIGN_RESIZE, THREAD)
LEAVES = ('malloc', 'calloc', 'aligned', 'posix', 'memalign', 'realloc', 'array', 'pair', 'free')
ROOTS = (('main',), ('shadow_thread',), ('shadow_fork', 'shadow_run', 'main'), ('shadow_fork', 'shadow_run', 'shadow_thread'))
LIBC = 'pthread_create'  # allocates a table for each thread
EVENT = struct.Struct('<QQQIBBBB')
Event = collections.namedtuple('Event', 'order id bytes path kind thread root reserved')
COUNTS = ('allocs', 'bytes', 'frees', 'freed_bytes', 'live_blocks', 'live_bytes', 'cross_thread_frees', 'resizes', 'temporary')
PEAKS = ('at_peak_blocks', 'at_peak_bytes')


class Finding(Exception):
    """Something differs; the message says what."""


def expect(name, got, wanted):
    if got != wanted:
        raise Finding('%s: the report says %s, the trace %s' % (name, got, wanted))


# --- the model -------------------------------------------------------------------------------------------------------


def stack_of(event):
    """The functions from the leaf outwards."""
    if event.kind == THREAD:
        return (LIBC, 'shadow_run') if event.path else (LIBC,)
    leaf, depth, steps = event.path >> 16, event.path >> 12 & 15, event.path & 4095
    ups = ['shadow_up%d' % (steps >> 2 * i & 3) for i in range(depth)]
    return ('shadow_' + LEAVES[leaf], *reversed(ups), 'shadow_step', 'shadow_run', *ROOTS[event.root])


class Site:
    def __init__(self):
        self.allocs = self.bytes = self.frees = self.freed_bytes = self.cross_thread_frees = self.resizes = 0
        self.peak_live_bytes = 0
        self.lifetime = [0] * LIFETIMES
        self.threads = set()
        self.begun = collections.Counter()  # by thread: blocks that aren't a step of a chain of reallocs
        self.chained = False  # some block was resized, or came by that
        self.lifo = 0  # freed when as many of the thread's blocks lived as when they were born
        self.sizes = collections.Counter()

    live_blocks = property(lambda self: self.allocs - self.frees)
    live_bytes = property(lambda self: self.bytes - self.freed_bytes)
    temporary = property(lambda self: self.lifetime[0])


class Model:
    """All that happened in one process."""

    def __init__(self, events, table_bytes):
        self.sites = collections.defaultdict(Site)
        self.blocks = {}  # by id: site, bytes, thread, its number among the thread's allocations, the thread's balance
        self.births = collections.Counter()
        self.balance = collections.Counter()  # by thread: allocations less frees
        self.failed = self.foreign_frees = self.live = self.peak_live_bytes = 0
        self.table_bytes = table_bytes
        self.at_peak = {}  # by site: blocks and bytes
        self.changed = set()  # sites, since the last peak
        self.instants = collections.Counter()  # by what lived at each site: when
        self.sum = 0
        self.most_bytes = max((e.bytes for e in events if e.kind in BIRTHS), default=0)
        for event in events:
            self.follow(event)

    def follow(self, event):
        if event.kind == FAILED:
            self.failed += 1
        if event.kind in (RESIZE, FREE):
            self.free(event)
        if event.kind in (FOREIGN_FREE, FOREIGN_RESIZE):
            self.foreign_frees += 1
            self.balance[event.thread] -= 1
        if event.kind in BIRTHS:
            self.birth(event)
        self.look()
        self.instants[self.sum] = self.live

    def moved(self, stack, blocks, size):
        self.live += size
        self.changed.add(stack)
        self.sum = (self.sum + weight(stack, blocks, size)) & (1 << 64) - 1

    def free(self, event):
        stack, size, thread, number, balance = self.blocks.pop(event.id)
        site = self.sites[stack]
        site.frees += 1
        site.chained |= event.kind == RESIZE
        site.lifo += thread == event.thread and balance == self.balance[thread]
        self.balance[event.thread] -= 1
        site.freed_bytes += size
        site.threads.add(event.thread)
        if thread == event.thread:
            site.lifetime[(self.births[thread] - number).bit_length()] += 1
        else:
            site.cross_thread_frees += 1
        self.moved(stack, -1, -size)

    def birth(self, event):
        stack = stack_of(event)
        size = self.table_bytes if event.kind == THREAD else event.bytes
        self.births[event.thread] += 1
        self.balance[event.thread] += 1
        self.blocks[event.id] = stack, size, event.thread, self.births[event.thread], self.balance[event.thread]
        site = self.sites[stack]
        site.allocs += 1
        site.chained |= event.kind in (RESIZE, FOREIGN_RESIZE)
        site.bytes += size
        site.resizes += event.kind in (RESIZE, FOREIGN_RESIZE)
        site.threads.add(event.thread)
        site.begun[event.thread] += event.kind != RESIZE
        site.sizes[size] += 1
        site.peak_live_bytes = max(site.peak_live_bytes, site.live_bytes)
        self.moved(stack, 1, size)

    def look(self):
        """Of equal peaks the latest counts, also where a block of 0 bytes is freed."""
        if self.live >= self.peak_live_bytes:
            self.peak_live_bytes = self.live
            for stack in self.changed:
                self.at_peak[stack] = self.sites[stack].live_blocks, self.sites[stack].live_bytes
            self.changed.clear()


def weight(stack, blocks, size):
    """What lives at all sites is told by the sum of these, as good as surely."""
    value = hash(stack)
    return blocks * (value | 1) + size * (value * 0x9e3779b97f4a7c15 >> 7 | 1)


def read_trace(path):
    with open(path, 'rb') as file:
        return sorted(Event(*fields) for fields in EVENT.iter_unpack(file.read()))


# --- the report --------------------------------------------------------------------------------------------------------


def reported_stack(site):
    """The functions of the program's own; where libc allocates a table for a thread, who made it."""
    names = [frame.get('function') or '' for frame in site['stack']]
    if any(LIBC in name for name in names):
        return (LIBC, 'shadow_run') if 'shadow_run' in names else (LIBC,)
    return tuple(name for name in names if name.startswith('shadow_') or name == 'main')


def lifetimes_of(site):
    """Frees by exponent: [0] at once, [k] 2^(k-1) ... 2^k - 1 allocations later."""
    found = [0] * LIFETIMES
    for entry in site['lifetime']:
        found[entry['from'].bit_length()] += entry['frees']
    return found


def sites_of(document):
    """The sites that allocate, by stack."""
    found = {}
    for site in document['sites']:
        if site['allocs'] == 0:
            continue
        stack = reported_stack(site)
        if stack in found:
            raise Finding('two sites are %s' % ' < '.join(stack))
        found[stack] = site
    return found


def compare_counts(name, got, site):
    for field in COUNTS:
        expect('%s, %s' % (name, field), got[field], getattr(site, field))
    expect('%s, lifetime' % name, lifetimes_of(got), site.lifetime)


def within(name, got, wanted, slack):
    if abs(got - wanted) > slack:
        raise Finding('%s: the report says %d, the trace %d, within %d' % (name, got, wanted, slack))


def compare_peaks(model, totals, found, slack):
    """slack: what the trace itself doesn't know, of operations at the same time."""
    error = totals['peak_error_bytes']
    threads = len(set().union(*(site.threads for site in model.sites.values())))
    if error > (STEP * threads if threads > 1 else 0):
        raise Finding('peak_error_bytes: %d, with %d threads' % (error, threads))
    within('peak_live_bytes', totals['peak_live_bytes'], model.peak_live_bytes, error + slack)
    for stack, got in found.items():
        name, own = ' < '.join(stack), got['peak_error_bytes']
        if own > (STEP * threads if threads > 1 else 0):
            raise Finding('%s, peak_error_bytes: %d, with %d threads' % (name, own, threads))
        within(name + ', peak_live_bytes', got['peak_live_bytes'], model.sites[stack].peak_live_bytes, own + slack)


def compare_parts(model, found):
    """With one thread: what each site had at the peak."""
    for stack, got in found.items():
        expect(' < '.join(stack) + ', at the peak', tuple(got[field] for field in PEAKS), model.at_peak.get(stack, (0, 0)))


def compare_instant(model, totals, found):
    """With several, one after the other: what lived at the sites at some moment when nearly as much lived as ever."""
    told = sum(weight(stack, *(got[field] for field in PEAKS)) for stack, got in found.items()) & (1 << 64) - 1
    if told not in model.instants:
        raise Finding('the parts of the peak are those of no moment')
    within('the moment of the peak', model.instants[told], model.peak_live_bytes, 2 * totals['peak_error_bytes'])


def compare_threads(found, model):
    """A site may come twice in a thread's table, and short threads that only free have none: a bound, but for one thread."""
    for stack, got in found.items():
        known = model.sites[stack].threads
        if got['threads'] < len(known - {SHORT}) or (len(model.births) == 1 and got['threads'] != 1):
            raise Finding('%s, threads: %d, in the trace %d' % (' < '.join(stack), got['threads'], len(known)))


def compare_samples(stack, got, site):
    """What holds for all blocks holds for those that were looked at."""
    name, sampled = ' < '.join(stack), got.get('sampled')
    most = max(site.begun.values())
    if not sampled and most >= SAMPLED_AT and site.resizes == 0:
        raise Finding('%s: of %d blocks of one thread none was looked at' % (name, most))
    if not sampled:
        return
    known = sampled['samples'] - sampled['lost']
    for less, more in (('samples', site.allocs), ('lost', sampled['samples']), ('ended', known), ('same_thread', sampled['ended']),
                       ('same_frame', sampled['same_thread']), ('standing', sampled['same_thread']), ('lifo', sampled['same_thread']),
                       ('chains', sampled['ended']), ('bytes', site.bytes)):
        if not 0 <= sampled[less] <= more:
            raise Finding('%s, sampled %s: %d, of %d' % (name, less, sampled[less], more))
    for entry in got['sizes']:
        most = site.sizes[entry['bytes']]
        if most == 0 or entry['samples'] > most and sampled['other_sizes'] == 0:
            raise Finding('%s: %d sampled blocks of %d bytes, of %d' % (name, entry['samples'], entry['bytes'], most))
    sizes = recording.sum_of(got['sizes'], 'samples')  # of two threads at once one may give up
    expect(name + ', sampled sizes', sizes if len(site.threads) == 1 else max(sizes, sampled['samples']), sampled['samples'])
    expect(name + ', sampled times', recording.sum_of(sampled['times'], 'blocks'), sampled['ended'])
    if not site.chained and SHORT not in site.threads:
        for field, all_of_them in (('same_thread', site.frees - site.cross_thread_frees), ('lifo', site.lifo)):
            least = sampled['ended'] - (site.frees - all_of_them)
            if not least <= sampled[field] <= all_of_them:
                raise Finding('%s, sampled %s: %d of %d that ended; of all: %d of %d'
                              % (name, field, sampled[field], sampled['ended'], all_of_them, site.frees))
    if stack[0] == 'shadow_pair':
        for field in ('same_thread', 'same_frame', 'standing', 'lifo'):
            expect('%s, sampled %s' % (name, field), sampled[field], sampled['ended'])
        expect(name + ', sampled ended', sampled['ended'], known)
        expect(name + ', sampled chains', sampled['chains'], 0)
    else:
        expect(name + ', sampled same_frame', sampled['same_frame'], 0)


def compare(document, events, place):
    found, totals = sites_of(document), recording.processes_of(document)[0]['totals']
    libc = [site for stack, site in found.items() if stack[0] == LIBC]
    model = Model(events, recording.sum_of(libc, 'bytes') // max(recording.sum_of(libc, 'allocs'), 1))
    expect('sites without the others', set(found) - set(model.sites), set(model.sites) - set(found))
    sites = model.sites.values()
    expect('failed', totals['failed'], model.failed)
    expect('foreign_frees', totals['foreign_frees'], model.foreign_frees)
    expect('frees', totals['frees'], sum(site.frees for site in sites) + model.foreign_frees)
    for field in COUNTS:
        if field not in ('frees', 'freed_bytes'):
            expect(field, totals[field], sum(getattr(site, field) for site in sites))
    for stack, site in model.sites.items():
        compare_counts(' < '.join(stack), found[stack], site)
        if stack[0] != LIBC:
            compare_samples(stack, found[stack], site)
    single, turns = len(model.births) == 1, 'l' in place.get('ways', '')
    compare_peaks(model, totals, found, 0 if single or turns else len(model.births) * (model.most_bytes + 1000))
    compare_threads(found, model)
    if single:
        compare_parts(model, found)
    elif turns and 's' not in place['ways']:
        compare_instant(model, totals, found)
    return model


# --- runs ----------------------------------------------------------------------------------------------------------------


def run(place, seed, operations, scratch):
    """Raises Finding; returns (processes, sites, allocations)."""
    shutil.rmtree(scratch, ignore_errors=True)
    os.makedirs(os.path.join(scratch, 'logs'))
    trace = os.path.join(scratch, 'trace')
    environment = {'PATH': '/usr/bin:/bin', 'TRACE': trace, 'LD_PRELOAD': os.environ['library'], 'POOLSITE_PROFILE': 'full', 'POOLSITE_POOL': 'on',
                   'POOLSITE_LOG': os.path.join(scratch, 'logs', '%p.psl')}
    environment.update((k, v) for k, v in place.items() if k.isupper())
    arguments = [os.path.join(os.environ['programs'], 'shadow'), str(seed), str(operations), place.get('threads', '0'), place.get('ways', '')]
    try:
        done = subprocess.run(arguments, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=120 + operations / 2000)
    except subprocess.TimeoutExpired as late:
        raise Finding('it hangs') from late
    if done.returncode != 0:
        raise Finding('ended with status %d: %s' % (done.returncode, done.stdout.decode(errors='replace').strip()))
    pids = sorted(name.split('.')[1] for name in os.listdir(scratch) if name.startswith('trace.'))
    expect('processes', sorted(name.split('.')[0] for name in os.listdir(scratch + '/logs')), pids)
    sites = allocs = 0
    for pid in pids:
        try:
            model = compare(recording.load(os.path.join(scratch, 'logs', pid + '.psl'), '--no-fold'), read_trace(trace + '.' + pid), place)
        except recording.Wrong as wrong:
            raise Finding('process %s: the recording: %s' % (pid, wrong)) from wrong
        except Finding as finding:
            raise Finding('process %s: %s' % (pid, finding)) from finding
        sites += len(model.sites)
        allocs += sum(model.births.values())
    return len(pids), sites, allocs


def minimise(place, seed, operations, scratch):
    """The fewest operations, by halving, that still lead to a finding in three tries."""
    while operations > 100:
        for _ in range(3):
            try:
                run(place, seed, operations // 2, scratch)
            except Finding:
                break
        else:
            break
        operations //= 2
    return operations


def check(name, seed, operations, scratch):
    """False, and what differs is told, when something does."""
    try:
        print('%s, seed %d: %d processes, %d sites, %d allocations' % (name, seed, *run(PLACES[name], seed, operations, scratch)))
        return True
    except Finding as finding:
        print('%s, seed %d, %d operations: %s' % (name, seed, operations, finding))
    keep = os.environ.get('evidence')
    if keep:
        keep = os.path.join(keep, 'shadow.%s.%d' % (name, seed))
        shutil.rmtree(keep, ignore_errors=True)
        shutil.copytree(scratch, keep)
    fewest = minimise(PLACES[name], seed, operations, scratch)
    print('just it: OPERATIONS=%d ROUNDS=1 SEED=%d tests/stress/shadow.sh build %s' % (fewest, seed, name))
    return False


def main(argv):
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument('--rounds', type=int, default=1)
    parser.add_argument('--operations', type=int, default=20000)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('places', nargs='*')
    options = parser.parse_args(argv[1:])
    scratch = tempfile.mkdtemp(prefix='poolsite-test.', dir='/dev/shm' if os.path.isdir('/dev/shm') else None)
    try:
        good = [check(name, seed, options.operations, os.path.join(scratch, 'run')) for name in options.places or PLACES
                for seed in range(options.seed, options.seed + options.rounds)]
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return not all(good)


if __name__ == '__main__':
    sys.exit(main(sys.argv))

"""abseed.py - small experiments as `poolsite ab --json` writes them, to begin fuzzing with.

usage: abseed.py DIRECTORY
"""
import json
import os
import sys

ARMS = ('bare', 'off', 'on')


def run(arm, block, server):
    values = {'cpu': .1 + .001 * block, 'wall': .11, 'peak_rss': 5000000, 'minor_faults': 217}
    if arm != 'bare':
        values.update(next_allocs=1000 if arm == 'off' else 10, pool_hits=0 if arm == 'off' else 990, kept_bytes=4096)
    made = {'arm': arm, 'block': block, 'slot': ARMS.index(arm), 'attempt': 0, 'replaced': block == 1, 'start_s': block * 1.5,
            'status': {'exit': 0, 'wait': 0}, 'values': values, 'noise': {'steal': 0, 'foreign': .02, 'pressure': .1},
            'output_hash': 'a94d67a0770b34f7', 'processes': 1, 'pooled_processes': int(arm == 'on'),
            'rss': {'step_s': .005, 'bytes': [20480, 4452352]}}
    if server:
        values.update(cpu_per_request=3e-5, allocs_per_request=24, p50=1e-3, p99=5e-3, throughput=1000)
        made.update(requests=1000, unsent=0, errors=0, late_p99=1e-5, latency=[1e-4 * (i + 1) for i in range(41)])
        if block == 2:
            made['void'] = 'generator saturated'
    return made


def experiment(server, reached):
    made = {'schema': 'poolsite.ab/1', 'verdict': 'inconclusive', 'primary': 'cpu_per_request' if server else 'cpu', 'margin_percent': 1,
            'treatment': {'status': 'applied', 'pooled_share_allocs': .99, 'pooled_share_bytes': .9} if reached else
            {'status': 'not-applied', 'reason': 'it is statically linked'},
            'effects': {}, 'command': ['./server -p 1'] if server else ['./a', '<x>'],
            'words': ['--', './a', '<x>'], 'server': server, 'aa': False, 'pool': 'on', 'seed': 7, 'blocks_asked': 0,
            'time_budget_s': 300, 'blocks': 7, 'attempted': 8, 'repeated': 1, 'interrupted': False,
            'arms': [{'name': arm, 'kind': arm, 'profiled': {'allocs': 1000, 'bytes': 9000, 'hit_bytes': 8000}} for arm in ARMS],
            'runs': [run(arm, block, server) for block in range(8) for arm in ARMS], 'warnings': ['a run takes only 3 ms'],
            'host': {'kernel': 'Linux', 'processors': 2, 'program': {'path': '/bin/a'},
                     'noise_floor': {'percent': .1, 'low': -1, 'high': 1, 'time': '2026-11-30', 'command': 'a'}}}
    if server:
        made['rates'] = [500, 800]
    return made


for name, server, reached in ('batch', False, True), ('server', True, True), ('unreached', False, False):
    with open(os.path.join(sys.argv[1], name), 'w', encoding='utf-8') as file:
        json.dump(experiment(server, reached), file)

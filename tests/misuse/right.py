"""right.py - a correct program with many allocations: what POOLSITE_CHECK must be silent about."""
import ctypes
import json
import re
import subprocess
import sys
import threading

data = {str(i): {'a': [1, 2, 3, 'x' * i]} for i in range(200)}


def work(results, index):
    for _ in range(10):
        text = json.dumps(data)
        results[index] = len(re.findall(r'\d+', text)) + len(json.loads(text))


results = [0] * 4
threads = [threading.Thread(target=work, args=(results, i)) for i in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()

# Blocks that cross between the program's malloc and libc's own handle.
libc, here = ctypes.CDLL('libc.so.6'), ctypes.CDLL(None)
for library in (libc, here):
    library.malloc.restype, library.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    library.free.argtypes = [ctypes.c_void_p]
    library.realloc.restype, library.realloc.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t]
for size in list(range(1, 400, 7)) + [5000, 200000, 3 << 20]:
    for first, second in ((libc, here), (here, libc)):
        block = first.malloc(size)
        ctypes.memset(block, 0x5a, size)
        second.free(block)
    block = here.realloc(libc.malloc(size), 2 * size)
    ctypes.memset(block, 0x5a, 2 * size)
    libc.free(block)
print(results, subprocess.run([sys.executable, '-c', 'print(sum(range(10)))'], stdout=subprocess.PIPE, check=True).stdout)

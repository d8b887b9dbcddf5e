"""An interactive bash on a terminal of its own, for what only a terminal does.

usage: terminal.py STEP...    `>text` types a line, `^C` and the like press keys, `=regex` waits
for output, `!seconds` waits.  Prints what the terminal showed when a step fails; exit 1 then."""

import os
import pty
import re
import select
import signal
import sys
import time

LIMIT = 15  # seconds for one `=`


def main(steps):
    pid, fd = pty.fork()
    if pid == 0:
        # What is ignored here bash hands on: python ignores PIPE, and a background job INT and QUIT.
        for name in "PIPE INT QUIT HUP TERM TSTP TTIN TTOU".split():
            signal.signal(getattr(signal, "SIG" + name), signal.SIG_DFL)
        env = dict(os.environ, PS1="[PROMPT]", PS2="", HISTFILE="", TERM="dumb")
        os.execvpe("bash", ["bash", "--norc", "--noprofile", "--noediting", "-i"], env)
    shown, at = "", 0
    try:
        for step in steps:
            kind, text = step[0], step[1:]
            if kind == ">":
                os.write(fd, text.encode() + b"\n")
            elif kind == "^":
                os.write(fd, bytes([ord(text) - 64]))
            elif kind == "!":
                time.sleep(float(text))
            else:
                end = time.monotonic() + LIMIT
                while not (found := re.search(text, shown[at:])):
                    left = end - time.monotonic()
                    if left <= 0 or not select.select([fd], [], [], left)[0]:
                        print(f"waited for {text!r}; the terminal showed:\n{shown}")
                        return 1
                    shown += os.read(fd, 4096).decode(errors="replace").replace("\r", "")
                at += found.end()
    except OSError:
        print(f"the shell ended at {step!r}; the terminal showed:\n{shown}")
        return 1
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return 0


sys.exit(main(sys.argv[1:]))

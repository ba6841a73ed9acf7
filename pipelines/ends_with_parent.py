"""Runs a program until it ends or the process that wanted it is gone, however that one ended.

    python ends_with_parent.py PID PROGRAM ARGUMENT...

Beam's job servers are started in this way: Beam ends them in the end, but a process that is killed, or that is told
twice to end, gets no further. The program has a session of its own: Ctrl-C in the terminal of PID is not meant for it
as long as PID has something to ask of it. The standard library only, so that it starts at once.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from types import FrameType

_INTERVAL = 0.2  # seconds between two checks of whether PID is there
_GRACE = 3.0  # seconds between asking the program to end and killing it


def main(parent: int, command: list[str]) -> int:
    """Run the command; returns its exit code, as shells tell it."""
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)
    program = subprocess.Popen(command)
    try:
        while program.poll() is None and os.getppid() == parent:
            time.sleep(_INTERVAL)
    except KeyboardInterrupt:
        pass
    if program.poll() is None:
        program.terminate()
        try:
            program.wait(_GRACE)
        except subprocess.TimeoutExpired:
            program.kill()
    code = program.wait()
    return code if code >= 0 else 128 - code


def _end(_number: int, _frame: FrameType | None) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))

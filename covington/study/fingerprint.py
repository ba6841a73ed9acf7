"""A hash of the code behind a result: of a module, and of all modules of this package that it imports."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from functools import cache
from pathlib import Path

from covington.errors import JobError

PACKAGE = __name__.partition(".")[0]

# in a process of its own: this one has imported much besides; what is in sys.path follows
_IMPORT = f"""
import importlib, sys
sys.path[:] = sys.argv[2:]
importlib.import_module(sys.argv[1])
found = [module.__file__ for name, module in sys.modules.items() if name.startswith("{PACKAGE}.") and module.__file__]
sys.stdout.buffer.write("\\0".join(found).encode("utf-8", "surrogateescape"))
"""


def fingerprint(module: str) -> str:
    """A hash of the files of a module and of what it imports when it is loaded, in whatever folders they are.

    The package itself, whose __init__ says no more than where its public names are, does not count.
    """
    hashes = sorted(hashlib.sha256(file.read_bytes()).hexdigest() for file in imported(module))
    return hashlib.sha256("".join(hashes).encode()).hexdigest()


@cache
def imported(module: str) -> tuple[Path, ...]:
    """The files of the modules of this package, plain and compiled, that are loaded where only `module` is imported."""
    command = [sys.executable, "-c", _IMPORT, module, *sys.path]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        why = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["no reason was given"]
        raise JobError(f"{module} cannot be imported by a new process of Python: {why[0]}")
    return tuple(Path(name) for name in done.stdout.decode("utf-8", "surrogateescape").split("\0"))

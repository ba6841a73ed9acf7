"""The machine, its versions, and how much of it was there when a result was measured."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.timing import ROOT
from covington.base.machine import cores

QUIET = 0.85  # of the cores; if less is given, other people's work is in the numbers
_BLOCK = bytes(1 << 25)  # to be hashed, which lets other threads run
_TRIES = 3


def describe() -> dict[str, Any]:
    """What must be known to judge the numbers."""
    return {
        "processor": _processor(),
        "cores": cores(),
        "caches": _caches(),
        "memory": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": {
            name: _version(name) for name in ("covington", "apache-beam", "pyarrow", "numpy", "conllu")
        },
        "commit": _commit(),
        "cores given": cores_given(cores()),
        "begun": now(),
    }


def now() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")


def is_quiet(machine: dict[str, Any]) -> bool:
    """Was the machine this benchmark's own when it began?"""
    return bool(machine["cores given"] >= QUIET * machine["cores"])


def cores_given(threads: int) -> float:
    """How many times as much so many threads compute as one, at best: a shared machine may give less than it has."""
    return max(threads * _seconds(1) / _seconds(threads) for _ in range(_TRIES))


def _seconds(threads: int) -> float:
    start = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda _: hashlib.blake2b(_BLOCK).digest(), range(threads)))
    return time.perf_counter() - start


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _caches() -> dict[str, str]:
    found = {}
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = (
            (index / name).read_text(encoding="utf-8").strip() for name in ("level", "type", "size")
        )
        if kind != "Instruction":
            found[f"L{level}"] = size
    return found


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _commit() -> str | None:
    """The commit, and whether anything but what a benchmark writes is not as it was committed."""
    commit = _git("rev-parse", "--short", "HEAD")
    made = ("benchmarks/RESULTS.md", "benchmarks/results.json", "benchmarks/results.svg", "docs/capacity.md")
    changed = _git(
        "status", "--porcelain", "--untracked-files=no", "--", ".", *(f":!{name}" for name in made)
    )
    return f"{commit}-dirty" if commit and changed else commit or None


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()

"""The machine, the versions and the load that a result was measured under."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.timing import ROOT

QUIET = 0.5  # load per core; above it, other people's work is in the numbers


def describe() -> dict[str, Any]:
    """What must be known to judge the numbers."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "caches": _caches(),
        "memory": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": {
            name: _version(name) for name in ("covington", "apache-beam", "pyarrow", "numpy", "conllu")
        },
        "commit": _commit(),
        "load before": os.getloadavg()[0],
        "begun": now(),
    }


def now() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")


def is_quiet(machine: dict[str, Any]) -> bool:
    """Was the machine this benchmark's own when it began? (At the end the load is its own work.)"""
    return bool(machine["load before"] <= QUIET * machine["cores"])


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

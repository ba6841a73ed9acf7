"""Fresh processes on one core, taken in turns, and what their repetitions come to."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.settings import Scale
from covington.commands.cli import ENVIRONMENT

ROOT = Path(__file__).resolve().parents[1]

#: Libraries below Python that would otherwise take all cores.
ONE_THREAD = dict.fromkeys(
    (
        *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"),
        *("NUMEXPR_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "ARROW_IO_THREADS"),
    ),
    "1",
)


class BenchmarkError(RuntimeError):
    """A measurement that could not be made."""


@dataclass(frozen=True)
class Lap:
    """Processor seconds of this process and of its ended children, and seconds by the clock on the wall."""

    cpu: float
    wall: float


def timed(work: Callable[[], object]) -> Lap:
    """Do the work once."""
    wall, cpu = time.perf_counter(), _processor_seconds()
    work()
    return Lap(_processor_seconds() - cpu, time.perf_counter() - wall)


@contextlib.contextmanager
def on_cores(count: int) -> Iterator[None]:
    """Nothing of this process runs on more cores than these, where the system lets one say so."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:count])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _processor_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


@dataclass(frozen=True)
class Probe:
    """A function of a module in this folder, and what to call it with in a fresh process."""

    module: str
    function: str
    arguments: Mapping[str, Any]

    def run(self, fresh: bool = True) -> dict[str, Any]:
        """Make the measurement; in this process, if it is only to see that it can be made."""
        if not fresh:
            function = getattr(importlib.import_module(f"benchmarks.{self.module}"), self.function)
            here: dict[str, Any] = json.loads(json.dumps(function(**self.arguments)))
            return here
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.probe", self.module, self.function],
            input=json.dumps(self.arguments),
            capture_output=True,
            text=True,
            cwd=ROOT,
            env=ENVIRONMENT | os.environ | ONE_THREAD,
            check=False,
        )
        if done.returncode:
            raise BenchmarkError(
                f"{self.module}.{self.function} ended with {done.returncode}: {done.stderr[-2000:]}"
            )
        found: dict[str, Any] = json.loads(done.stdout.rstrip().rpartition("\n")[2])
        return found


def alternate(contenders: Mapping[str, Probe], scale: Scale) -> dict[str, list[dict[str, Any]]]:
    """Every contender once, then every contender again: a slow minute of the machine meets all of them."""
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in contenders}
    for repetition in range(scale.repetitions):
        for name, probe in contenders.items():
            tell(f"  {repetition + 1}/{scale.repetitions} {name}")
            found[name].append(probe.run(scale.fresh))
    return found


def spread(values: Sequence[float]) -> dict[str, float]:
    """Median, quartiles and extremes of the repetitions."""
    quarters = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else [values[0]] * 3
    return {
        "median": statistics.median(values),
        "min": min(values),
        "max": max(values),
        "lower quartile": quarters[0],
        "upper quartile": quarters[2],
        "repetitions": len(values),
    }


def tell(text: str) -> None:
    """A line for the one who waits."""
    print(text, file=sys.stderr, flush=True)

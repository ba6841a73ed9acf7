"""Model load time, and the memory of a parsing process: what is its own and what it shares."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.corpora import Corpora, whole
from benchmarks.settings import Scale
from benchmarks.timing import ROOT, Probe, alternate, spread, timed
from covington.parsing.parser import Parser


def load(model: str, test: str) -> dict[str, Any]:
    """Load, parse, and look at the memory before, after, and while another process has the same model."""
    before = resident()
    loaded: list[Parser] = []
    lap = timed(lambda: loaded.append(Parser.load(model)))
    after = resident()
    loaded[0].parse(whole(test))
    facts: dict[str, Any] = {**asdict(lap), "before": before, "loaded": after, "parsed": resident()}
    facts["peak"] = peak()
    other = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.memory", model],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert other.stdout
    other.stdout.readline()
    facts["beside another"] = resident()
    other.communicate()
    return facts


def resident() -> dict[str, float]:
    """Megabytes of this process: its own, and what it shares (/proc/self/smaps_rollup; Linux)."""
    return _added(Path("/proc/self/smaps_rollup").read_text(encoding="utf-8"))


def peak() -> float:
    """The largest resident memory so far, in megabytes."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))


def _added(text: str) -> dict[str, float]:
    total = {"private": 0, "shared": 0}
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        kind = name.partition("_")[0].lower()
        if kind in total and name.partition("_")[2] in ("Clean", "Dirty"):
            total[kind] += int(rest.split()[0])
    return {name: kilobytes / 1024 for name, kilobytes in total.items()}


def measure(corpora: Corpora, scale: Scale, trained: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Medians of load time; memory as the last repetition found it."""
    contenders = {
        name: Probe("memory", "load", {"model": facts["path"], "test": corpora.test})
        for name, facts in trained.items()
    }
    rows = alternate(contenders, scale)
    kept = ("before", "loaded", "parsed", "beside another", "peak")
    return {
        name: {
            "load": spread([one["cpu"] for one in found]),
            "load by the wall clock": spread([one["wall"] for one in found]),
            "file": Path(trained[name]["path"]).stat().st_size / 1e6,
            **{key: found[-1][key] for key in kept},
        }
        for name, found in rows.items()
    }


def hold(model: str) -> None:
    """Keep a model loaded until standard input is closed."""
    parser = Parser.load(model)
    print(json.dumps(parser.checksum), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    hold(sys.argv[1])

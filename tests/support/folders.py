"""What is in a folder of shards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from covington.engine.work import JOB


def rows(folder: Path | str) -> list[dict[str, Any]]:
    """All parsed sentences of a folder, in the order of the input."""
    found = [
        row
        for path in sorted(Path(folder).glob("shard-*.parquet"))
        for row in pq.read_table(path).to_pylist()
    ]
    assert found == sorted(found, key=lambda row: (row["source"], row["position"]))
    return found


def files(folder: Path | str) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file()
    }


def results(folder: Path | str) -> dict[str, bytes]:
    """The files of a folder, but for the one that tells when the inputs were written."""
    return {name: data for name, data in files(folder).items() if name != JOB}

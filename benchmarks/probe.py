"""One measurement in a process of its own: `python -m benchmarks.probe MODULE FUNCTION`, JSON in, JSON out."""

from __future__ import annotations

import importlib
import json
import sys

import pyarrow as pa


def main() -> None:
    module, function = sys.argv[1:]
    arguments = json.load(sys.stdin)
    pa.set_cpu_count(1)  # Parquet too is read and written by one core
    found = getattr(importlib.import_module(f"benchmarks.{module}"), function)(**arguments)
    print("\n" + json.dumps(found), flush=True)


if __name__ == "__main__":
    main()

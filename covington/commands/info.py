"""Print what is in a model file: how it was trained and on how much, its labels and templates, its checksum.

MODEL is the path of a model file or the name of a bundled model.
"""

from __future__ import annotations

import argparse
import json
import textwrap
from collections.abc import Iterator
from typing import Any

from covington import models
from covington.base.text import printable
from covington.model import file as model_file
from covington.model.file import ModelFile

EXAMPLE = """  covington info en_ewt
  covington info model.covington --json"""

_WIDTH = 100  # characters of a line
_ITEMS = 200  # of a list that are shown; --json shows all


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model", nargs="?", default=models.DEFAULT, metavar="MODEL", help="default: %(default)s"
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def run(arguments: argparse.Namespace) -> int:
    path = models.path(arguments.model) if models.is_name(arguments.model) else arguments.model
    facts = _facts(model_file.read(path))
    if arguments.json:
        print(json.dumps(facts, ensure_ascii=False, indent=2))
    else:
        print("\n".join(map(printable, _lines(facts))))
    return 0


def _facts(model: ModelFile) -> dict[str, Any]:
    """The file first, then what training wrote into it, in the order of the keys, then the arrays."""
    return {
        "file": str(model.path),
        "size": model.size,
        "checksum": model.checksum,
        "format": model_file.FORMAT,
        **{
            key: value
            for key, value in model.metadata.items()
            if key not in ("file", "size", "checksum", "arrays")
        },
        "arrays": {
            name: f"{array.dtype} {' × '.join(map(str, array.shape)) or 'number'}, {_bytes(array.nbytes)}"
            for name, array in model.arrays.items()
        },
    }


def _lines(facts: dict[str, Any], indent: str = "") -> Iterator[str]:
    """`key: value` lines; what has keys of its own is indented below its name, lists are wrapped."""
    width = max(map(len, facts), default=0)
    for key, value in facts.items():
        name = f"{indent}{key.replace('_', ' '):<{width}}  "
        if isinstance(value, dict) and value:
            yield name.rstrip()
            yield from _lines(value, indent + "  ")
        elif isinstance(value, list) and value:
            shown = ", ".join(str(item) for item in value[:_ITEMS])
            more = ", ..." if len(value) > _ITEMS else ""
            below = " " * len(name)
            text = f"({len(value)}) {shown}{more}"
            lines = textwrap.wrap(
                text, max(40, _WIDTH - len(name)), break_on_hyphens=False, break_long_words=False
            )
            yield from (
                start + line for start, line in zip([name] + [below] * len(lines), lines, strict=False)
            )
        else:
            yield f"{name}{_value(key, value)}"


def _value(key: str, value: object) -> str:
    if key == "size" and isinstance(value, int):
        return f"{_bytes(value)} ({value:,} bytes)"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or value in ([], {}):
        return "none"
    if isinstance(value, int) and abs(value) >= 10_000:
        return f"{value:,}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _bytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 100_000 else f"{size:,} bytes"

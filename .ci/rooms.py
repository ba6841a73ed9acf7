"""Do the rooms of covington import in one direction only? Prints what does not; ARCHITECTURE.md explains the rooms.

    python .ci/rooms.py [FOLDER]

Looks at `import` and `cimport`, also inside functions, and counts the source files of every room.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

#: Lowest first; rooms on one line do not import each other.
ORDER = (
    ("errors", "_version", "base"),
    ("characters", "arrow"),
    ("schemas",),
    ("files",),
    ("corpus",),
    ("transition",),
    ("features",),
    ("network", "segmentation", "lemmas", "scorers"),
    ("model",),
    ("models", "evaluation"),
    ("parsing",),
    ("learning",),
    ("engine",),
    ("study",),
    ("display",),
    ("pipelines",),
    ("commands",),
)
RANKS = {room: rank for rank, rooms in enumerate(ORDER) for room in rooms}

#: folders beside covington/ that are installed below it
BESIDE = ("pipelines", "schemas", "models")

MAX_FILES = 14  # .py, .pyx and .h of one package

#: the only modules below pipelines/ that may import Beam: its filesystems
BEAM = ("covington.files.remote",)

_IMPORTS = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+c?import[ \t]+(\([^)]*\)|[^\n#]*)|c?import[ \t]+([\w.]+))",
    re.MULTILINE,
)


def modules(root: Path) -> Iterator[tuple[str, Path]]:
    """Every source file below the folders, with the name that it is imported by."""
    for folder in ("covington", *BESIDE):
        for path in sorted((root / folder).rglob("*.p*")):
            if path.suffix in (".py", ".pyx", ".pxd"):
                parts = path.relative_to(root).with_suffix("").parts
                name = ".".join(parts if folder == "covington" else ("covington", *parts))
                yield name.removesuffix(".__init__"), path


def imported(text: str) -> Iterator[tuple[int, str]]:
    """The line and the name of everything that a module imports; of `from a import b` both a.b and a may be meant."""
    for found in _IMPORTS.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        package, names, module = found.groups()
        if module:
            yield line, module
            continue
        for name in re.findall(r"\w+(?:\s+as\s+\w+)?", names.strip("()")):
            yield line, f"{package}.{name.split()[0]}"


def room_of(module: str) -> str:
    """`parsing` for covington.parsing.parser; empty for what lies outside of all rooms."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[0] == "covington" and parts[1] in RANKS else ""


def complaints(root: Path) -> Iterator[str]:
    """One sentence for each import against the order and each room that has grown too large."""
    files: dict[Path, int] = {}
    for module, path in modules(root):
        if path.suffix != ".pxd":
            files[path.parent] = files.get(path.parent, 0) + 1
        room = room_of(module)
        if module in ("covington", "covington.__main__", "covington._version", "covington.errors"):
            continue
        where = path.relative_to(root)
        if not room:
            yield f"{where}: a module of covington lies in a room; {module} lies in none that is known"
            continue
        for line, name in imported(path.read_text(encoding="utf-8")):
            other = room_of(name)
            if name.startswith("apache_beam") and room != "pipelines" and module not in BEAM:
                yield f"{where}:{line}: only pipelines/ imports apache_beam"
            elif other and other != room and RANKS[other] >= RANKS[room]:
                yield f"{where}:{line}: {room} must not import {other} ({name})"
            elif name.split(".")[0] == "covington" and not other and room != "commands":
                yield f"{where}:{line}: import {name} from the room that it lies in"
    for folder, count in files.items():
        count += len(list(folder.glob("*.h")))
        if count > MAX_FILES:
            yield f"{folder.relative_to(root)}: {count} source files; a room has at most {MAX_FILES}"


def main() -> int:
    found = list(complaints(Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()))
    print(*found, sep="\n", end="\n" if found else "")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())

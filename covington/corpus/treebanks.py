"""The parts of a treebank: which files are for training, development and test."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from covington.errors import OptionError
from covington.files.listing import is_input

PARTS = ("train", "dev", "test")


@dataclass(frozen=True)
class Treebank:
    """The files of a treebank, by part."""

    name: str
    train: tuple[str, ...]
    dev: tuple[str, ...]
    test: tuple[str, ...]


def find_treebanks(paths: Iterable[str], part: str = "test") -> list[Treebank]:
    """Folders that hold *train*, *dev* and *test* CoNLL-U files, or folders of such folders.

    Files for training and of one other part must be there.
    """
    found = []
    for path in paths:
        folder = Path(path)
        if not folder.is_dir():
            raise OptionError(f"{path}: not a folder with *train*, *dev* and *test* .conllu files")
        inside = [folder, *sorted(child for child in folder.iterdir() if child.is_dir())]
        here = [treebank for child in inside if (treebank := _treebank(child)).train]
        if not here:
            raise OptionError(f"{path}: no *train* .conllu files")
        if without := [treebank.name for treebank in here if not getattr(treebank, part)]:
            raise OptionError(f"{path}: no *{part}* .conllu files in {', '.join(without)}")
        found.extend(here)
    if len({treebank.name for treebank in found}) < len(found):
        raise OptionError("two treebanks have the same folder name")
    return found


def _treebank(folder: Path) -> Treebank:
    files = sorted(folder.iterdir())
    parts = [tuple(str(file) for file in files if is_part(file.name, part)) for part in PARTS]
    if twice := {*parts[0]} & {*parts[1]} | {*parts[1]} & {*parts[2]} | {*parts[0]} & {*parts[2]}:
        raise OptionError(f"{min(twice)}: is it for training, dev or test? The name says two of them")
    return Treebank(folder.resolve().name, *parts)


def is_part(name: str, part: str) -> bool:
    """Whether a file of a treebank is its train, dev or test part, by its name."""
    return is_input(name) and re.search(rf"(^|[-_.]){part}[-_.]", name) is not None


def training_file(path: str) -> Path:
    """The file itself, or the one training file of a treebank's folder."""
    place = Path(path)
    if not place.is_dir():
        return place
    found = sorted(file for file in place.iterdir() if is_part(file.name, "train"))
    if len(found) != 1:
        names = ", ".join(file.name for file in found) or "none"
        raise OptionError(
            f"{path}: one training file (*train*.conllu or .parquet) was expected, found {names}"
        )
    return found[0]

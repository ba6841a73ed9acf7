"""Files on this machine or on any filesystem that Beam knows: list, open, write whole or not at all, copy."""

from __future__ import annotations

import contextlib
import json
import lzma
import os
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

import pyarrow as pa

from covington.errors import CovingtonError, DataError, OptionError
from covington.files import remote
from covington.files.atomic import atomic_file
from covington.files.listing import (
    GLOB,
    NO_INPUT,
    RESULTS,
    bare,
    is_input,
    is_local,
    is_match,
    local_files,
    outside_results,
    real,
    within,
)
from covington.files.remote import Entry, reason

Written = TypeVar("Written")


class InputFile(NamedTuple):
    """One input: where it is, how long it was when the job was planned, and its place among the others."""

    name: str  # as it was given; the `source` of its sentences
    size: int
    ordinal: int
    path: str  # where workers find it, whatever folder they run in
    modified: float = 0.0  # seconds since 1970; elsewhere since the hour, if the filesystem tells it


def list_inputs(patterns: Sequence[str]) -> list[InputFile]:
    """The files that `patterns` (files, folders, globs) stand for, each once, in the order given."""
    found: dict[str, Entry] = {}
    for pattern in patterns:
        for entry in entries(pattern):
            found.setdefault(real(entry.path), entry)
    return [
        InputFile(entry.path, entry.size, ordinal, absolute(entry.path), entry.modified)
        for ordinal, entry in enumerate(found.values())
    ]


def entries(pattern: str) -> list[Entry]:
    """The files that a file, folder or glob stands for."""
    if is_local(pattern):
        place = Path(pattern)
        if place.exists() and not place.is_file() and not place.is_dir():
            raise DataError(
                "is no plain file, and would have to be read twice; a stream is read as standard input, which is `-`",
                source=pattern,
            )
        return [_entry(path) for path in local_files(pattern)]
    pattern = bare(pattern)  # Beam takes a slash at the end for a wildcard
    found = [entry for entry in remote.matching(pattern) if is_match(entry.path, pattern)]
    if found:
        return found
    if GLOB & set(pattern):
        raise DataError("no file matches", source=pattern)
    inside = remote.below(pattern)
    if not inside:
        raise DataError("no such file or folder", source=pattern)
    found = [entry for entry in inside if is_input(entry.path.removeprefix(within(pattern)))]
    if not found:
        raise DataError(NO_INPUT, source=pattern)
    present = {entry.path for entry in inside}
    kept = set(
        outside_results(
            [entry.path for entry in found],
            pattern,
            lambda folder: any(join(folder, mark) in present for mark in RESULTS),
        )
    )
    return [entry for entry in found if entry.path in kept]


def _entry(path: str) -> Entry:
    found = Path(path).stat()
    return Entry(path, found.st_size, found.st_mtime)


def facts(path: str) -> tuple[int, float]:
    """The size of a file, and when it was last written to."""
    if is_local(path):
        with readable(path):
            entry = _entry(path)
    else:
        entry = remote.entry(path)
    return entry.size, entry.modified


def absolute(path: str) -> str:
    """A path that means the same in every folder of this machine; URIs do already."""
    return str(Path(path).absolute()) if is_local(path) else bare(path)


@contextlib.contextmanager
def readable(path: str) -> Iterator[None]:
    """What this machine complains of, or who reads what is in a file, as one sentence about `path`."""
    try:
        yield
    except (CovingtonError, BrokenPipeError):  # the latter is of whoever reads what is written meanwhile
        raise
    except OSError as error:
        raise CovingtonError(f"{error.filename or path}: {reason(error)}") from None
    except (
        EOFError,
        lzma.LZMAError,
        zlib.error,
        json.JSONDecodeError,
        UnicodeDecodeError,
        pa.ArrowException,
    ) as error:
        raise CovingtonError(f"{path}: {reason(error)}") from None


def open_raw(path: str) -> IO[bytes]:
    """The bytes of a file as they are, compressed or not."""
    return Path(path).open("rb") if is_local(path) else remote.opened(path)


def read_range(path: str, start: int, end: int) -> bytes:
    """The bytes from start to end; fewer if the file is shorter now."""
    with readable(path), open_raw(path) as file:
        file.seek(start)
        parts = []
        left = end - start
        while left > 0 and (part := file.read(left)):
            parts.append(part)
            left -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


@contextlib.contextmanager
def whole_file(path: str, workshop: str | None = None) -> Iterator[IO[bytes]]:
    """A file that takes its name only when it is complete; until then it is in the folder `workshop`."""
    if is_local(path):
        with readable(path), atomic_file(path, workshop) as file:
            yield file
    else:
        with remote.whole_file(path, workshop) as file:
            yield file


def write_json(path: str, value: object, workshop: str | None = None) -> None:
    """Write a small file of facts, whole or not at all."""
    with whole_file(path, workshop) as file:
        file.write(json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False).encode() + b"\n")


def read_json(path: str) -> Any:
    """Read what write_json wrote, or None if there is no such file."""
    if not exists(path):
        return None
    with readable(path), open_raw(path) as file:
        return json.loads(file.read())


def check_output(path: str) -> None:
    """Refuse names that elsewhere would mean other files too, when what was written is looked for."""
    if not is_local(path) and GLOB & set(path):
        raise OptionError(f"{path} has one of *, ? and [ in it, so it cannot be the name of an output there")


def exists(path: str) -> bool:
    """Whether there is such a file."""
    return Path(path).exists() if is_local(path) else remote.exists(path)


def is_folder(path: str) -> bool:
    """Whether there is a folder of this name; in an object store there is none."""
    return Path(path).is_dir() if is_local(path) else remote.is_folder(path)


def files_in(folder: str) -> list[str]:
    """The paths of all files in a folder and below it, sorted; none if there is no such folder."""
    return list(sizes_in(folder))


def sizes_in(folder: str) -> dict[str, int]:
    """All files in a folder and below it, sorted, and how long they are."""
    folder = bare(folder)
    if not is_local(folder):
        return {entry.path: entry.size for entry in remote.below(folder)}
    found = {}
    for path in sorted(join(str(at), name) for at, _, names in os.walk(folder) for name in names):
        with contextlib.suppress(FileNotFoundError):  # somebody else's work in progress
            found[path] = Path(path).lstat().st_size
    return found


def remove(paths: Sequence[str]) -> None:
    """Delete files; those that are gone already are no trouble."""
    for path in filter(is_local, paths):
        with contextlib.suppress(OSError):
            Path(path).unlink()
    remote.delete([path for path in paths if not is_local(path)])


def remove_folder(path: str) -> None:
    """Delete a folder with all that is in it; a folder that is gone already is no trouble."""
    if is_local(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        remote.remove_folder(path)


def remove_empty_folder(path: str) -> None:
    """Delete a folder in which nothing is; a link to one stays."""
    if not is_local(path):
        remote.remove_empty_folder(path)
    elif not Path(path).is_symlink():
        with contextlib.suppress(OSError):  # it is gone, or somebody has put something there
            Path(path).rmdir()


def copy_file(source: str, target: str) -> None:
    """Copy a file from any filesystem to any other; it appears whole or not at all."""
    with readable(source), open_raw(source) as file, whole_file(target) as copy:
        while part := file.read(1 << 22):
            copy.write(part)


@contextlib.contextmanager
def fetched(path: str) -> Iterator[Path]:
    """A file of any filesystem, on this machine."""
    if is_local(path):
        yield Path(path)
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        copy_file(path, str(copy))
        yield copy


def put(write: Callable[[Path], Written], target: str) -> Written:
    """Let `write` make a file on this machine, by the last part of its name, and bring it where it belongs."""
    if is_local(target):
        with readable(target):
            return write(Path(target))
    with readable(target), tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / target.rpartition("/")[2]
        written = write(path)
        copy_file(str(path), target)
        return written


def join(folder: str, *names: str) -> str:
    """A path below a folder.

    >>> join("out/", "_work", "job.json"), join("hdfs://", "a.conllu"), join("", "a.conllu")
    ('out/_work/job.json', 'hdfs://a.conllu', 'a.conllu')
    """
    return (within(folder) if folder else "") + "/".join(names)

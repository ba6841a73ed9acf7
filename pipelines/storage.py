"""Files on any filesystem that Beam knows: list, open, write whole or not at all, copy to this machine.

Beam takes a second or more to import, so it is not troubled for files of this machine.
"""

from __future__ import annotations

import contextlib
import json
import lzma
import os
import secrets
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

import pyarrow as pa

from covington.atomic import atomic_file
from covington.errors import CovingtonError, DataError, OptionError
from covington.listing import GLOB, NO_INPUT, bare, is_input, is_local, is_match, local_files, real

Written = TypeVar("Written")

#: how the options of Beam's filesystems begin
FILE_OPTIONS = (
    *("--hdfs_", "--s3_", "--azure_", "--blob_"),
    *("--gcs_", "--gcp_oauth_", "--impersonate_service_account", "--no_auth", "--project"),
)

_flags: tuple[str, ...] | None = None  # of the command that runs, until Beam has got them


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


class Entry(NamedTuple):
    """One file of a listing."""

    path: str
    size: int
    modified: float


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
    found = [entry for entry in _match(pattern) if is_match(entry.path, pattern)]
    if found:
        return found
    if GLOB & set(pattern):
        raise DataError("no file matches", source=pattern)
    folder = pattern.rstrip("/")
    inside = _match(folder + "/**")
    if not inside:
        raise DataError("no such file or folder", source=pattern)
    found = [entry for entry in inside if is_input(entry.path[len(folder) + 1 :])]
    if not found:
        raise DataError(NO_INPUT, source=pattern)
    return found


def _match(pattern: str) -> list[Entry]:
    """The files elsewhere that fit a pattern, sorted; `**` stands for any number of folders."""
    with readable(pattern):
        found = beam_files().match([pattern])[0].metadata_list
    return sorted(Entry(str(one.path), one.size_in_bytes, _modified(one)) for one in found)


def _modified(metadata: Any) -> float:
    """When a file elsewhere was last written to, but for the hour: of gs:// Beam tells it wrongly in summer."""
    return float((metadata.last_updated_in_seconds or 0.0) % 3600)


def _entry(path: str) -> Entry:
    found = Path(path).stat()
    return Entry(path, found.st_size, found.st_mtime)


def facts(path: str) -> tuple[int, float]:
    """The size of a file, and when it was last written to."""
    with readable(path):
        if is_local(path):
            entry = _entry(path)
            return entry.size, entry.modified
        one = beam_files().get_filesystem(path).metadata(path)
        return one.size_in_bytes, _modified(one)


def set_options(flags: Sequence[str]) -> None:
    """Beam's options of a command; some filesystems do not open without, and Beam gives them none before a pipeline."""
    global _flags
    _flags = tuple(flags)


def beam_files() -> Any:
    """Beam's filesystems, which are imported when something is not on this machine."""
    global _flags
    from apache_beam.io.filesystems import FileSystems

    if _flags is not None:
        from apache_beam.options.pipeline_options import PipelineOptions

        FileSystems.set_options(PipelineOptions(list(_flags)))
        _flags = None
    return FileSystems


def absolute(path: str) -> str:
    """A path that means the same in every folder of this machine; URIs do already."""
    return str(Path(path).absolute()) if is_local(path) else bare(path)


@contextlib.contextmanager
def readable(path: str) -> Iterator[None]:
    """What a filesystem complains of, as one sentence about `path`."""
    try:
        yield
    except (CovingtonError, BrokenPipeError):  # the latter is of whoever reads what is written meanwhile
        raise
    except OSError as error:
        details = getattr(error, "exception_details", None)  # a BeamIOError keeps the causes there
        if details:
            raise CovingtonError(f"{path}: {_reason(next(iter(details.values())))}") from None
        raise CovingtonError(f"{error.filename or path}: {_reason(error)}") from None
    except (
        EOFError,
        lzma.LZMAError,
        zlib.error,
        json.JSONDecodeError,
        UnicodeDecodeError,
        pa.ArrowException,
    ) as error:
        raise CovingtonError(f"{path}: {_reason(error)}") from None
    except (ValueError, ImportError) as error:
        if is_local(path):
            raise
        raise CovingtonError(f"{path}: {_why_closed(path, error)}") from error


def _why_closed(path: str, error: Exception) -> str:
    """Why a filesystem of Beam's does not open: an option or a package is missing, or there is none of this name."""
    if "get filesystem" not in str(error):
        return _reason(error)
    if path.startswith("file:"):
        return "a file of this machine is named by its path, without file://"
    return (
        f"nothing here reads {path.partition(':')[0]}://; apache-beam[gcp], [aws] and [hadoop] bring"
        " gs://, s3:// and hdfs://"
    )


def _reason(error: object) -> str:
    text = str(getattr(error, "strerror", None) or error).strip().splitlines()
    return text[0] if text else type(error).__name__


def open_raw(path: str) -> IO[bytes]:
    """The bytes of a file as they are, compressed or not."""
    if is_local(path):
        return Path(path).open("rb")
    file: IO[bytes] = beam_files().open(path, compression_type="uncompressed")
    return file


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
    with readable(path):
        if is_local(path):
            with atomic_file(path, workshop) as file:
                yield file
            return
        folder, _, name = path.rpartition("/")
        temporary = join(workshop or folder, f".{name}.{secrets.token_hex(6)}.part")
        try:
            with beam_files().create(temporary, compression_type="uncompressed") as file:
                yield file
        except BaseException:
            remove([temporary])
            raise
        _rename(temporary, path)


def _rename(temporary: str, path: str) -> None:
    """Give a complete file its name; the old one goes only when the new one lies there whole by its other name."""
    try:
        beam_files().rename([temporary], [path])
    except OSError:  # BeamIOError is one
        if not exists(path):
            raise
        remove([path])  # some filesystems do not rename over another file
        beam_files().rename([temporary], [path])


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
    if is_local(path):
        return Path(path).exists()
    with readable(path):
        return bool(beam_files().exists(path))


def files_in(folder: str) -> list[str]:
    """The paths of all files in a folder and below it, sorted; none if there is no such folder."""
    return list(sizes_in(folder))


def sizes_in(folder: str) -> dict[str, int]:
    """All files in a folder and below it, sorted, and how long they are."""
    folder = folder.rstrip("/")
    if not is_local(folder):
        return {
            entry.path: entry.size for entry in _match(folder + "/**") if entry.path.startswith(folder + "/")
        }
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
    remote = [path for path in paths if not is_local(path)]
    for first in range(0, len(remote), 100):
        with contextlib.suppress(OSError):  # BeamIOError is one; it has tried them all
            beam_files().delete(remote[first : first + 100])


def remove_folder(path: str) -> None:
    """Delete a folder with all that is in it; a folder that is gone already is no trouble."""
    if is_local(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        remove(files_in(path))


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
    """A path below a folder."""
    return "/".join([*([folder.rstrip("/")] if folder else []), *names])

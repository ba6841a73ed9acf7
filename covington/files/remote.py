"""Beam's filesystems, with folders (hdfs://) or without (gs://, s3://): list, open, write whole or not at all, delete.

All their calls are made here. They raise what they like, which becomes one sentence about the path. Beam takes a second
or more to import, so it is not troubled for files of this machine.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any, NamedTuple, cast

from covington.errors import CovingtonError, OptionError
from covington.files.listing import GLOB, within

#: how the options of Beam's filesystems begin
FILE_OPTIONS = (
    *("--hdfs_", "--s3_", "--azure_", "--blob_"),
    *("--gcs_", "--gcp_oauth_", "--impersonate_service_account", "--no_auth", "--project"),
)

_AS_IT_IS = "uncompressed"  # Beam would otherwise pack and unpack by the ending of a name

_flags: tuple[str, ...] | None = None  # of the command that runs, until Beam has got them


class Entry(NamedTuple):
    """One file of a listing."""

    path: str
    size: int
    modified: float


def set_options(flags: Sequence[str]) -> None:
    """Beam's options of a command; some filesystems do not open without, and Beam gives them none before a pipeline."""
    global _flags
    _flags = tuple(flags)


def _system(path: str) -> Any:
    """The filesystem that a path is of."""
    global _flags
    from apache_beam.io.filesystems import FileSystems

    if _flags is not None:
        from apache_beam.options.pipeline_options import PipelineOptions

        FileSystems.set_options(PipelineOptions(list(_flags)))
        _flags = None
    return FileSystems.get_filesystem(path)


# what goes wrong


@contextlib.contextmanager
def told(path: str) -> Iterator[None]:
    """What a filesystem raises, as one sentence about `path`; nothing else may stand in this block, and no `yield`."""
    try:
        yield
    except (CovingtonError, MemoryError):
        raise
    except Exception as error:
        raise CovingtonError(f"{path}: {_why(path, error)}") from error


def _why(path: str, error: Exception) -> str:
    """Why a call failed; also why a filesystem does not open, for want of an option or a package, or of itself."""
    if "Unable to get filesystem" not in str(error):
        return reason(_cause(error))
    if path.startswith("file:"):
        return "a file of this machine is named by its path, without file://"
    return (
        f"nothing here reads {path.partition(':')[0]}://; apache-beam[gcp], [aws] and [hadoop] bring"
        " gs://, s3:// and hdfs://"
    )


def _cause(error: object) -> object:
    """What is at the bottom of an error: a BeamIOError keeps those that it is made of by their paths."""
    details = getattr(error, "exception_details", None)
    if isinstance(details, dict):
        details = next(iter(details.values()), None)
    return error if details is None else _cause(details)


def reason(error: object) -> str:
    """The first line of what an error has to say."""
    text = getattr(error, "strerror", None) or getattr(error, "message", None) or error
    lines = str(text).strip().removesuffix(" with exceptions None").splitlines()
    return lines[0] if lines else type(error).__name__


class _Told:
    """A file of a filesystem's, each call of which tells what goes wrong in one sentence about `path`."""

    def __init__(self, file: Any, path: str) -> None:
        self._file, self._path = file, path

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._file, name)
        if not callable(found):
            return found

        def call(*arguments: Any, **named: Any) -> Any:
            with told(self._path):
                return found(*arguments, **named)

        return call

    def __enter__(self) -> _Told:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        # of two errors the first is of interest
        with contextlib.suppress(CovingtonError) if kind else contextlib.nullcontext():
            self.close()


# what is there


def matching(pattern: str) -> list[Entry]:
    """The files that fit a pattern, sorted; `**` stands for any number of folders."""
    with told(pattern):
        system = _system(pattern)
        if system.has_dirs():
            return sorted(_fitting(system, pattern) if GLOB & set(pattern) else _named(system, pattern))
        if "/" not in pattern.partition("://")[2]:
            return []  # a bucket, and to ask for a file of this name is an error
        return sorted(map(_entry, system.match([pattern])[0].metadata_list))


def below(folder: str) -> list[Entry]:
    """All files in a folder and below it, sorted; none if there is no such folder."""
    with told(folder):
        system = _system(folder)
        if system.has_dirs():
            inside = _inside(system, folder)
            if inside is None:
                raise CovingtonError(f"{folder} is a file, not a folder")
            return sorted(_files(system, inside))
    start = within(folder)
    return [entry for entry in matching(f"{start}**") if entry.path.startswith(start)]


def is_folder(path: str) -> bool:
    """Whether there is a folder of this name; never where there are no folders."""
    with told(path):
        system = _system(path)
        return bool(system.has_dirs() and _leads_to_folder(system, path))


def exists(path: str) -> bool:
    """Whether there is a file or a folder of this name."""
    with told(path):
        return bool(_system(path).exists(path))


def entry(path: str) -> Entry:
    """What a listing would say of a file."""
    with told(path):
        return _entry(_system(path).metadata(path))


def _entry(metadata: Any) -> Entry:
    return Entry(str(metadata.path), metadata.size_in_bytes, _modified(metadata))


def _modified(metadata: Any) -> float:
    """When a file was last written to, but for the hour: of gs:// Beam tells it wrongly in summer."""
    return float((metadata.last_updated_in_seconds or 0.0) % 3600)


# where there are folders: Beam lists one level, and does not say what is a folder


def _inside(system: Any, folder: str) -> list[Entry] | None:
    """What lies directly in a folder; nothing if it is gone, and None if it is a file."""
    try:
        return [_entry(one) for one in system._list(folder)]
    except Exception as error:
        if not system.exists(folder):
            return []
        if "not a directory" in str(error).lower():  # the one way to know an empty file from a folder
            return None
        raise


def _is_folder(system: Any, found: Entry) -> bool:
    return not found.size and _inside(system, found.path) is not None


def _files(system: Any, found: Iterable[Entry]) -> Iterator[Entry]:
    """The files among some entries, and those in and below the folders among them."""
    for one in found:
        inside = None if one.size else _inside(system, one.path)
        if inside is None:
            yield one
        else:
            yield from _files(system, inside)


def _leads_to_folder(system: Any, path: str) -> bool:
    return system.exists(path) and _is_folder(system, _entry(system.metadata(path)))


def _named(system: Any, path: str) -> list[Entry]:
    """The file of this name, if there is one."""
    found = [_entry(system.metadata(path))] if system.exists(path) else []
    return [one for one in found if not _is_folder(system, one)]


def _fitting(system: Any, pattern: str) -> Iterator[Entry]:
    """The files that fit a pattern with wildcards; only folders that fit as far are looked into."""
    parts = pattern.split("/")
    place = next(place for place, part in enumerate(parts) if GLOB & set(part))
    level = _inside(system, parent("/".join([*parts[:place], ""]))) or []
    while "**" not in parts[place] and place < len(parts) - 1:
        place += 1
        fit = system.match_files(level, "/".join(parts[:place]))
        level = [one for folder in fit if not folder.size for one in _inside(system, folder.path) or ()]
    if "**" in parts[place]:
        yield from system.match_files(_files(system, level), pattern)
    else:
        yield from (one for one in system.match_files(level, pattern) if not _is_folder(system, one))


# what is changed


def opened(path: str) -> IO[bytes]:
    """A file to be read, as it is, compressed or not."""
    with told(path):
        return cast(IO[bytes], _Told(_system(path).open(path, compression_type=_AS_IT_IS), path))


@contextlib.contextmanager
def whole_file(path: str, workshop: str | None = None) -> Iterator[IO[bytes]]:
    """A file that takes its name only when it is complete; until then it is in `workshop`, or beside its place."""
    name = path.rpartition("/")[2]
    start = within(workshop or parent(path))
    temporary, aside = (f"{start}.{name}.{secrets.token_hex(6)}.part" for _ in range(2))
    try:
        with told(path):
            system = _system(path)
            if system.has_dirs():
                _make_ready(system, path, parent(temporary))
            created = system.create(temporary, compression_type=_AS_IT_IS)
        with _Told(created, path) as file:
            yield cast(IO[bytes], file)
        with told(path):
            _put_in_place(_system(path), temporary, path, aside)
    except BaseException:
        delete([temporary])
        raise


def _make_ready(system: Any, path: str, workshop: str) -> None:
    """Make the folders that a file needs; in a folder of its own name it would come to lie without anybody's notice."""
    if _leads_to_folder(system, path):
        raise OptionError(f"{path} is a folder, not a file to write")
    for folder in {workshop, parent(path)}:
        if not system.exists(folder):
            try:
                system.mkdirs(folder)
            except Exception:
                if not system.exists(folder):  # else somebody has made it meanwhile
                    raise


def _put_in_place(system: Any, temporary: str, path: str, aside: str) -> None:
    """Give a complete file its name; a file that had it before goes only when the new one is there."""
    try:
        system.rename([temporary], [path])
        return
    except Exception:
        if is_folder(path) or not system.exists(path):
            raise
    system.rename([path], [aside])  # some filesystems do not rename over another file
    try:
        system.rename([temporary], [path])
    except BaseException:
        with contextlib.suppress(Exception):
            system.rename([aside], [path])
        raise
    delete([aside])


def delete(paths: Sequence[str]) -> None:
    """Delete files, and folders with all that is in them; those that are gone already are no trouble."""
    for first in range(0, len(paths), 100):
        some = paths[first : first + 100]
        with contextlib.suppress(CovingtonError), told(some[0]):  # Beam has tried them all
            _system(some[0]).delete(some)


def remove_folder(path: str) -> None:
    """Delete a folder with all that is in it."""
    with told(path):
        has_folders = _system(path).has_dirs()
    delete([path if has_folders else within(path)])  # in an object store all that begins so, many at a time
    if not has_folders:
        delete([found.path for found in below(path)])  # what was not meant by it there


def remove_empty_folder(path: str) -> None:
    """Delete a folder in which nothing is."""
    with told(path):
        system = _system(path)
        if system.has_dirs() and _inside(system, path) == []:
            delete([path])


def parent(path: str) -> str:
    """The folder that a file is in.

    >>> parent("hdfs://corpus/a.conllu"), parent("hdfs://a.conllu"), parent("gs://bucket/corpus/")
    ('hdfs://corpus', 'hdfs://', 'gs://bucket/corpus')
    """
    root = path.index("://") + len("://")
    return path[: max(root, path.rfind("/"))]

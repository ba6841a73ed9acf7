"""An object store in this process, as a filesystem of Beam's: `shelf://` and a name, no folders, no network."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from apache_beam.io.filesystem import BeamIOError, CompressionTypes, FileMetadata, FileSystem

#: path → content, of all there is
things: dict[str, bytes] = {}
#: calls that are refused, and how
refused: dict[str, Exception] = {}
#: whether a thing may be renamed to what is there already
overwrites = True

SCHEME = "shelf"


def ask(call: str) -> None:
    """Raise what was prepared for a call, if anything was."""
    if call in refused:
        raise refused[call]


class _Writing(io.BytesIO):
    """Appears on the shelf when it is closed."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path

    def write(self, data: Any, /) -> int:
        ask("write")
        return super().write(data)

    def close(self) -> None:
        was_closed, content = self.closed, b"" if self.closed else self.getvalue()
        super().close()
        if not was_closed:
            ask("close")
            things[self._path] = content


class _Reading(io.BytesIO):
    def read(self, size: int | None = -1, /) -> bytes:
        ask("read")
        return super().read(size)


class Shelf(FileSystem):  # type: ignore[misc]
    """The least that Beam asks of a filesystem; a missing thing is an error."""

    @classmethod
    def scheme(cls) -> str:
        return SCHEME

    def join(self, basepath: str, *paths: str) -> str:
        return "/".join([basepath.rstrip("/"), *paths])

    def split(self, path: str) -> tuple[str, str]:
        head, _, tail = path.rpartition("/")
        return head, tail

    def has_dirs(self) -> bool:
        return False

    def mkdirs(self, path: str) -> None:
        raise BeamIOError("a shelf has no folders")

    def _list(self, dir_or_prefix: str) -> Iterator[FileMetadata]:
        for path, content in sorted(things.items()):
            if path.startswith(dir_or_prefix):
                yield FileMetadata(path, len(content), 1.0)

    def create(
        self,
        path: str,
        mime_type: str = "application/octet-stream",
        compression_type: str = CompressionTypes.AUTO,
    ) -> Any:
        ask("create")
        return _Writing(path)

    def open(
        self,
        path: str,
        mime_type: str = "application/octet-stream",
        compression_type: str = CompressionTypes.AUTO,
    ) -> Any:
        ask("open")
        return _Reading(self._get(path))

    def copy(self, source_file_names: list[str], destination_file_names: list[str]) -> None:
        for source, target in zip(source_file_names, destination_file_names, strict=True):
            things[target] = self._get(source)

    def rename(self, source_file_names: list[str], destination_file_names: list[str]) -> None:
        ask("rename")
        for source, target in zip(source_file_names, destination_file_names, strict=True):
            if not overwrites and target in things:
                raise BeamIOError(f"there is {target} already")
            things[target] = self._get(source)
            del things[source]

    def exists(self, path: str) -> bool:
        ask("exists")
        return path in things

    def size(self, path: str) -> int:
        return len(self._get(path))

    def last_updated(self, path: str) -> float:
        return 1.0

    def checksum(self, path: str) -> str:
        return str(hash(self._get(path)))

    def metadata(self, path: str) -> FileMetadata:
        return FileMetadata(path, self.size(path), 1.0)

    def delete(self, paths: list[str]) -> None:
        ask("delete")
        groups = [path for path in paths if path.endswith("/")]  # all that begins so, as with gs:// and s3://
        for path in [one for one in things if one.startswith(tuple(groups))]:
            del things[path]
        missing = {path: FileNotFoundError(path) for path in {*paths} - {*groups} - {*things}}
        for path in paths:
            things.pop(path, None)
        if missing:
            raise BeamIOError("Delete failed", missing)

    def _get(self, path: str) -> bytes:
        try:
            return things[path]
        except KeyError:
            raise BeamIOError("Open failed", {path: FileNotFoundError(2, "no such thing", path)}) from None

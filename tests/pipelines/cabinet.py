"""Files and folders of this machine as a filesystem of Beam's, `cabinet://` and a path, that behaves as hdfs:// does.

A folder is there, and has no length. One level is listed at a time, and what is no folder cannot be listed. Nothing is
renamed over another file, nor into a folder that is not there; what is renamed to a folder goes into it.
"""

from __future__ import annotations

import io
import posixpath
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from apache_beam.io.filesystem import BeamIOError, CompressionTypes, FileMetadata, FileSystem

#: the folder that all is in
root = Path()

SCHEME = "cabinet"


class CabinetError(Exception):
    """No OSError, as those of hdfs:// are none."""


def place(url: str) -> Path:
    """Where a file or folder really is."""
    if not url.startswith(f"{SCHEME}://"):
        raise ValueError(f"Could not parse url: {url}")
    return root / url.removeprefix(f"{SCHEME}://").strip("/")


def found(folder: str = "") -> list[str]:
    """The paths of all files and folders in a folder, from there; a folder ends with a slash."""
    paths = sorted((root / folder).rglob("*"))
    return [f"{path.relative_to(root / folder)}{'/' * path.is_dir()}" for path in paths]


class Cabinet(FileSystem):  # type: ignore[misc]
    """What Beam asks of a filesystem, answered as its HadoopFileSystem does."""

    @classmethod
    def scheme(cls) -> str:
        return SCHEME

    def join(self, basepath: str, *paths: str) -> str:
        return posixpath.join(basepath, *paths)

    def split(self, path: str) -> tuple[str, str]:
        head, _, tail = path.rpartition("/")
        return head, tail

    def has_dirs(self) -> bool:
        return True

    def mkdirs(self, path: str) -> None:
        if place(path).exists():
            raise BeamIOError(f"Path already exists: {path}")
        place(path).mkdir(parents=True)

    def _list(self, dir_or_prefix: str) -> Iterator[FileMetadata]:
        try:
            folder = place(dir_or_prefix)
            if not folder.exists():
                raise CabinetError(f"File {dir_or_prefix} does not exist.")
            if not folder.is_dir():
                raise CabinetError(f"{dir_or_prefix!r} is not a directory.")
            for path in sorted(folder.iterdir()):
                yield self.metadata(posixpath.join(dir_or_prefix, path.name))
        except Exception as error:
            raise BeamIOError("List operation failed", {dir_or_prefix: error}) from None

    def create(
        self,
        path: str,
        mime_type: str = "application/octet-stream",
        compression_type: str = CompressionTypes.AUTO,
    ) -> Any:
        if place(path).exists():
            raise BeamIOError(f"Path already exists: {path}")
        place(path).parent.mkdir(parents=True, exist_ok=True)
        return place(path).open("xb")

    def open(
        self,
        path: str,
        mime_type: str = "application/octet-stream",
        compression_type: str = CompressionTypes.AUTO,
    ) -> Any:
        return io.BytesIO(place(path).read_bytes())

    def copy(self, source_file_names: list[str], destination_file_names: list[str]) -> None:
        raise AssertionError("files are copied by reading and writing them")

    def rename(self, source_file_names: list[str], destination_file_names: list[str]) -> None:
        for source, target in zip(source_file_names, destination_file_names, strict=True):
            try:
                self._rename(source, target)
            except Exception as error:
                raise BeamIOError("Rename operation failed", {(source, target): error}) from None

    def _rename(self, source: str, target: str) -> None:
        path = place(target)
        if path.is_file() or not path.parent.is_dir():
            raise CabinetError(f"Unable to rename {source} to {target}.")
        place(source).rename(path / place(source).name if path.is_dir() else path)

    def exists(self, path: str) -> bool:
        return place(path).exists()

    def size(self, path: str) -> int:
        return int(self.metadata(path).size_in_bytes)

    def last_updated(self, path: str) -> float:
        return float(self.metadata(path).last_updated_in_seconds)

    def metadata(self, path: str) -> FileMetadata:
        if not place(path).exists():
            raise BeamIOError(f"File not found: {path}")
        facts = place(path).stat()
        return FileMetadata(path, 0 if place(path).is_dir() else facts.st_size, facts.st_mtime)

    def delete(self, paths: list[str]) -> None:
        for path in paths:
            if place(path).is_dir():
                shutil.rmtree(place(path))
            else:
                place(path).unlink(missing_ok=True)

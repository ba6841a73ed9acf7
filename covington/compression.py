"""Compressed streams, known by their first bytes on reading, by the name on writing; nothing seeks."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, cast

import pyarrow as pa

from covington.errors import DataError

# first bytes → kind; compressions have pyarrow's names, whose decompressors run outside the interpreter, but not for xz
_MAGIC = {
    b"PAR1": "parquet",
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\x28\xb5\x2f\xfd": "zstd",
    **{bytes([first]) + b"\x2a\x4d\x18": "zstd" for first in range(0x50, 0x60)},  # frames to be skipped
    b"\xfd7zXZ\0": "xz",
}
_PROMISES = (".parquet", ".gz", ".bz2", ".zst", ".xz")

PIECE = 1 << 22  # bytes read at a time
XZ_MEMORY = 256 << 20  # bytes; the highest preset of xz needs 65 MB


class Joined:
    """Bytes already read from a stream, followed by the rest of it."""

    closed = False

    def __init__(self, start: bytes, rest: IO[bytes]) -> None:
        self._start, self._rest = start, rest

    def read(self, size: int = -1) -> bytes:
        if self._start:
            start, self._start = self._start, b""
            if 0 <= size < len(start):
                start, self._start = start[:size], start[size:]
            return start
        return self._rest.read(size)

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        pass


class Xz:
    """The text of xz data; a file that wants a dictionary of gigabytes is refused."""

    def __init__(self, packed: IO[bytes]) -> None:
        self._packed = packed
        self._decompressor: lzma.LZMADecompressor | None = None
        self._waiting = b""  # packed bytes that no decompressor has seen

    def read(self, size: int) -> bytes:
        while True:
            if self._decompressor is None and not self._begin():
                return b""
            assert self._decompressor is not None
            if self._decompressor.needs_input:
                waiting = self._waiting or self._packed.read(1 << 16)
                if not waiting:
                    raise EOFError("it ends too early")
            else:
                waiting = b""
            data, self._waiting = self._decompressor.decompress(waiting, size), b""
            if self._decompressor.eof:
                self._waiting, self._decompressor = self._decompressor.unused_data, None
            if data:
                return data

    def _begin(self) -> bool:
        """Start the next stream of the file, if there is one; zeros may stand between two."""
        while not (waiting := self._waiting.lstrip(b"\0")):
            waiting = self._packed.read(1 << 16)
            if not waiting:
                return False
            self._waiting = waiting
        self._waiting = waiting
        self._decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=XZ_MEMORY)
        return True


class Unclosed:
    """A file for pyarrow to write to, which it would otherwise close when it is done."""

    closed = False

    def __init__(self, file: IO[bytes]) -> None:
        self.write = file.write

    def writable(self) -> bool:
        return True

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass


def kind_of(opening: bytes, name: str) -> str:
    """What the first bytes of a file, six or more, say that it is: parquet, a compression, or else conllu.

    A damaged or encrypted file must not pass for text: DataError if the name promises what the bytes do not keep.
    """
    found = next((kind for magic, kind in _MAGIC.items() if opening.startswith(magic)), "conllu")
    ending = os.path.splitext(name)[1].lower()  # noqa: PTH122 (a URI is no path)
    if found == "conllu" and ending in _PROMISES:
        state = "empty" if not opening else "encrypted" if opening.startswith(b"PARE") else "something else"
        raise DataError(f"its name ends in {ending}, but it is {state}", source=name)
    return found


def _unpacked(stream: IO[bytes], method: str | None) -> IO[bytes]:
    if method is None:
        return stream
    if method == "xz":
        return cast(IO[bytes], Xz(stream))
    return cast(IO[bytes], pa.CompressedInputStream(pa.PythonFile(stream, mode="r"), method))


def decompressed(stream: IO[bytes], name: str, is_file: bool = True) -> Iterator[bytes]:
    """Pieces of the text that a stream holds, whatever it was compressed with; only the name of a file is a promise."""
    start = b""
    while len(start) < 6 and (more := stream.read(6 - len(start))):
        start += more
    kind = kind_of(start, name if is_file else "")
    method = None if kind in ("conllu", "parquet") else kind
    is_first = True
    try:
        source = _unpacked(cast(IO[bytes], Joined(start, stream)), method)
        while piece := source.read(PIECE):
            if is_first and piece.startswith(b"PAR1"):
                raise DataError(
                    "is Parquet, which is read neither from a stream nor compressed as a whole", source=name
                )
            is_first = False
            yield piece
    except (EOFError, lzma.LZMAError, pa.ArrowException, OSError) as error:
        if method is None:
            raise
        raise DataError(f"the {method} data is damaged or cut short ({error})", source=name) from None


@contextmanager
def compressed(file: IO[bytes], name: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file that compresses as the ending of the name says; the same text gives the same bytes."""
    ending = os.fspath(name).rpartition(".")[2].lower()
    if ending == "gz":
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, compresslevel=6, mtime=0) as packed:
            yield cast(IO[bytes], packed)
    elif ending == "bz2":
        with bz2.open(file, "wb") as packed_bz2:
            yield cast(IO[bytes], packed_bz2)
    elif ending == "xz":
        with lzma.open(file, "wb") as packed_xz:
            yield cast(IO[bytes], packed_xz)
    elif ending == "zst":
        with pa.CompressedOutputStream(pa.PythonFile(Unclosed(file), mode="w"), "zstd") as packed_zst:
            yield packed_zst
    else:
        yield file

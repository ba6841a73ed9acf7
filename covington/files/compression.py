"""Compressed streams, known by their first bytes on reading, by the name on writing; nothing seeks."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, cast

import pyarrow as pa

from covington.errors import DataError

# first bytes → kind; compressions have pyarrow's names
_MAGIC = {
    b"PAR1": "parquet",
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\x28\xb5\x2f\xfd": "zstd",
    **{bytes([first]) + b"\x2a\x4d\x18": "zstd" for first in range(0x50, 0x60)},  # frames to be skipped
    b"\xfd7zXZ\0": "xz",
}
_PROMISES = (".parquet", ".gz", ".bz2", ".zst", ".xz")

PIECE = 1 << 20  # bytes read at a time: no more than a block of a stream, so that little is copied
XZ_MEMORY = 256 << 20  # bytes; the highest preset of xz needs 65 MB
_PACKED = 1 << 16  # bytes unpacked at a time
_LEAST = 1 << 16  # bytes given at a time, so that who reads on from a sentence not yet whole does so seldom
_WITH_GZIP_HEADER = 16 + zlib.MAX_WBITS


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


class Members:
    """The text of gzip or xz data, which may be several members one after the other, with zeros after each.

    An xz file that wants a dictionary of gigabytes is refused.
    """

    def __init__(self, packed: IO[bytes], method: str) -> None:
        self._packed, self._is_gzip = packed, method == "gzip"
        self._member: Any = None  # its decompressor, or None between members
        self._waiting = b""  # packed bytes that no decompressor has seen

    def read(self, size: int) -> bytes:
        """The next bytes, _LEAST or more unless `size` is less or they are the last: small members are joined."""
        found, least = [], min(size, _LEAST)
        while least > 0 and (self._member is not None or self._begin()):
            data = self._unpacked(size)
            if self._member.eof:
                self._waiting, self._member = self._member.unused_data, None
            if data:
                found.append(data)
            size -= len(data)
            least -= len(data)
        return b"".join(found)

    def _unpacked(self, size: int) -> bytes:
        """The next bytes of the member; an xz decompressor may still have some without being given more."""
        packed = b""
        if self._is_gzip or self._member.needs_input:
            packed = self._waiting or self._packed.read(_PACKED)
            if not packed:
                raise EOFError("it ends too early")
        data: bytes = self._member.decompress(packed, size)
        self._waiting = self._member.unconsumed_tail if self._is_gzip else b""
        return data

    def _begin(self) -> bool:
        """Start the next member of the file, if there is one."""
        while not (waiting := self._waiting.lstrip(b"\0")):
            waiting = self._packed.read(_PACKED)
            if not waiting:
                return False
            self._waiting = waiting
        self._waiting = waiting
        self._member = (
            zlib.decompressobj(_WITH_GZIP_HEADER)
            if self._is_gzip
            else lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=XZ_MEMORY)
        )
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
    if method in ("gzip", "xz"):
        return cast(IO[bytes], Members(stream, method))
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
    except (EOFError, lzma.LZMAError, zlib.error, pa.ArrowException, OSError) as error:
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

"""Files that appear whole or not at all: written under another name, flushed to disk, then renamed."""

from __future__ import annotations

import os
import re
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from covington.errors import OptionError
from covington.files.listing import is_local


@contextmanager
def atomic_file(
    path: str | os.PathLike[str], workshop: str | os.PathLike[str] | None = None
) -> Iterator[IO[bytes]]:
    """A binary file that takes its name only if the block ends well; its folder is made, but otherwise nothing is left.

    Until then it is in `workshop`, a folder of the same filesystem, or beside its place. A link stays a link, and what
    is no plain file, such as /dev/stdout or a pipe, is written to as it stands, after what was printed before. A
    failing disk is reported under the name the caller knows, not under the temporary one. A URI is refused: it would
    make folders here.
    """
    if not is_local(os.fspath(path)):
        raise OptionError(f"{path} is not on this machine: write it here, and copy it there")
    if (descriptor := _special(Path(path))) is not None:
        with os.fdopen(descriptor, "wb") as file:
            yield file
        return
    target = Path(os.path.realpath(path))
    temporary = Path(workshop or target.parent) / f".{target.name}.{secrets.token_hex(6)}.part"
    try:
        for folder in (target.parent, temporary.parent):
            folder.mkdir(parents=True, exist_ok=True)
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
        _remember_name(target.parent)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError) and error.filename in (None, str(temporary)):
            raise OSError(error.errno, error.strerror or str(error), os.fspath(path)) from None
        raise


# the names of descriptors of this process
_STREAMS = {"in": 0, "out": 1, "err": 2}
_DESCRIPTOR = re.compile(r"/dev/(?:std(in|out|err)|fd/([0-9]{1,9}))|/proc/self/fd/([0-9]{1,9})")


def _special(path: Path) -> int | None:
    """A descriptor to write to a device, a pipe or an open file of this process; None if the path is of another kind.

    An open file is written to through the descriptor that it has, because a second one would have a place of its own
    in the file, and the two would write over each other. What Python still holds back for the same file comes first.
    """
    found = _DESCRIPTOR.fullmatch(str(path))
    if not found and (not path.exists() or path.is_file() or path.is_dir()):
        return None
    for stream in filter(None, (sys.stdout, sys.stderr)):  # None is one that the caller has closed
        stream.flush()
    if not found:
        return os.open(path, os.O_WRONLY | os.O_APPEND)
    stream_name, *numbers = found.groups()
    try:
        return os.dup(_STREAMS[stream_name] if stream_name else int(next(filter(None, numbers))))
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def _remember_name(folder: Path) -> None:
    """Flush the folder too, so that the new name survives a power cut, where the system can do that."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

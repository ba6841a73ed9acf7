"""Files that appear whole or not at all: written under another name, flushed to disk, then renamed."""

from __future__ import annotations

import os
import secrets
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
    is no plain file, such as /dev/stdout, is written to as it stands. A failing disk is reported under the name the
    caller knows, not under the temporary one. A URI is refused: it would make folders here.
    """
    if not is_local(os.fspath(path)):
        raise OptionError(f"{path} is not on this machine: write it here, and copy it there")
    if _is_special(Path(path)):
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND), "wb") as file:
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


def _is_special(path: Path) -> bool:
    """Whether a path is a device or pipe, or the name of a descriptor of this process, which may be a plain file."""
    if str(path).startswith(("/dev/std", "/dev/fd/", "/proc/self/fd/")):
        return True
    return path.exists() and not path.is_file() and not path.is_dir()


def _remember_name(folder: Path) -> None:
    """Flush the folder too, so that the new name survives a power cut, where the system can do that."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

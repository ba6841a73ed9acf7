"""A model that travels as a name: pinned by checksum, fetched once per machine, loaded once per process."""

from __future__ import annotations

import fcntl
import os
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from covington import models
from covington.errors import ModelError
from covington.files.listing import is_local
from covington.files.storage import copy_file, exists, join
from covington.parsing.parser import Parser


@dataclass(frozen=True)
class Model:
    """The name, path or URI of a model, and the checksum that it had when the job was made."""

    name: str
    checksum: str

    @staticmethod
    def pin(name: str) -> Model:
        """Read the model where the job is made: a model that is missing or damaged is known at once."""
        path = local_path(name)
        return Model(str(path.absolute()) if path == Path(name) else name, Parser.load(path).checksum)

    def kept_in(self, folder: str) -> Model:
        """The same model as a copy that nobody writes to while workers map it; a bundled one is safe already."""
        if models.is_name(self.name):
            return self
        copy = Model(join(folder, f"model-{self.checksum}{models.SUFFIX}"), self.checksum)
        if not exists(copy.name):
            copy_file(str(local_path(self.name, self.checksum)), copy.name)
            copy.load()
        return copy

    def load(self) -> Parser:
        """The parser; on a worker, any other model than the one that was pinned is an error."""
        parser = Parser.load(local_path(self.name, self.checksum))
        if parser.checksum != self.checksum:
            raise ModelError(
                f"{self.name} has the checksum {parser.checksum} here, but had {self.checksum} when the"
                " job was made; give all workers the same model"
            )
        return parser


def local_path(name: str, checksum: str | None = None) -> Path:
    """A file on this machine for the name of a bundled model, a path or a URI."""
    if models.is_name(name):
        return models.path(name)
    if is_local(name):
        path = Path(name)
        if not path.is_file():
            raise ModelError(f"{name}: there is no such model file on this machine")
        return path
    return _fetched(name, checksum)


def _fetched(uri: str, checksum: str | None) -> Path:
    """The copy of a remote model in this machine's cache; whoever comes first fetches it, the others wait."""
    folder = cache_folder()
    if checksum is None:
        # where the job is made the checksum is not known yet, and a copy of yesterday may be out of date
        with tempfile.TemporaryDirectory(dir=folder) as workshop:
            fresh = Path(workshop) / "model"
            copy_file(uri, str(fresh))
            target = folder / f"{Parser.load(fresh).checksum}{models.SUFFIX}"
            fresh.replace(target)
        return target
    target = folder / f"{checksum}{models.SUFFIX}"
    with (folder / f"{checksum}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            fresh = folder / f"{checksum}.fresh"
            copy_file(uri, str(fresh))
            if Parser.load(fresh).checksum != checksum:
                # whoever asked complains of it; under the name of its checksum it would be in the way for ever
                return fresh
            fresh.replace(target)
    return target


def cache_folder() -> Path:
    """Where fetched models are kept; COVINGTON_CACHE names another place."""
    if named := os.environ.get("COVINGTON_CACHE"):
        Path(named).mkdir(mode=0o700, parents=True, exist_ok=True)
        return Path(named)
    folder = Path(tempfile.gettempdir()) / f"covington-{os.getuid()}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.lstat()
    if found.st_uid != os.getuid() or not stat.S_ISDIR(found.st_mode) or found.st_mode & 0o022:
        raise ModelError(
            f"{folder} is not this user's own: COVINGTON_CACHE names another folder for fetched models"
        )
    return folder

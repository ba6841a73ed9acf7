"""Which files are meant: a file, a folder or a glob on this machine, and that no output is one of them."""

from __future__ import annotations

import errno
import glob
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from covington.errors import DataError, OptionError

#: The endings that make a file of a folder an input; a file that is named is read whatever its name.
ENDINGS = (".conllu", ".conll", ".parquet")
COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")
REJECTS = ".rejects.parquet"  # ends the name of a table of rejected sentences, which is no input
RESULTS = (
    "_summary.json",
    "_work/job.json",
)  # what a folder has that `covington parse` has filled, or was about to
NO_INPUT = "no CoNLL-U or Parquet file in this folder"
GLOB = frozenset("*?[")


def is_local(path: str) -> bool:
    """Whether a path is on this machine, and not a URI."""
    return "://" not in path


def real(path: str) -> str:
    """The place that a path leads to, whatever links and dots it goes by; URIs are taken as they are."""
    return os.path.realpath(path) if is_local(path) else path


def bare(path: str) -> str:
    """A path without slashes at its end; those of hdfs:// stay."""
    scheme, mark, rest = path.rpartition("://")
    return scheme + mark + rest.rstrip("/")


def within(folder: str) -> str:
    """How the paths of all that is in a folder begin.

    >>> within("corpus/"), within("gs://bucket"), within("hdfs://"), within("/")
    ('corpus/', 'gs://bucket/', 'hdfs://', '/')
    """
    folder = bare(folder)
    return folder if folder.endswith("://") else f"{folder}/"


def local_files(pattern: str) -> list[str]:
    """The files that a file, folder or glob stands for, sorted; links are followed, and `**` is any folders.

    One of them that cannot be read is an error: without it the corpus would be another.
    """
    if not pattern:
        raise OptionError("an input has an empty name")
    place = Path(pattern)
    if place.is_dir():
        folder = pattern.rstrip("/") or "/"
        inputs = (path for path in _inside(folder) if is_input(os.path.relpath(path, folder)))
        found = outside_results(distinct(sorted(inputs)), folder, _is_result)
        if not found:
            raise DataError(NO_INPUT, source=pattern)
        return [*map(_named, map(_readable, found))]
    if place.exists():
        return [_named(pattern)]
    if place.is_symlink():
        return [_named(_readable(pattern))]
    matches = glob.glob(pattern, recursive=True)  # noqa: PTH207 (pathlib has no globs from the root)
    found = distinct(sorted(path for path in matches if not Path(path).is_dir() and is_match(path, pattern)))
    if not found:
        raise DataError(
            "no file matches" if GLOB & set(pattern) else "no such file or folder", source=pattern
        )
    return [*map(_named, map(_readable, found))]


def passed_over(folder: str) -> dict[str, int]:
    """How many files of a folder are no input by their names, by the ending of the name; the most frequent first.

    Those that `is_input` calls nobody's data do not count, nor do rejects and what is in folders of results.
    """
    folder = folder.rstrip("/") or "/"
    others = [
        path
        for path in _inside(folder)
        if not path.endswith(REJECTS) and not is_input(os.path.relpath(path, folder))
    ]
    kinds = Counter(map(_kind, outside_results(sorted(others), folder, _is_result)))
    return dict(sorted(kinds.items(), key=lambda kind: (-kind[1], kind[0])))


def _kind(path: str) -> str:
    if not Path(path).exists():
        return "linked to nothing"
    return Path(path).suffix.lower() or "without an ending"


def _readable(path: str) -> str:
    """The path of a plain file that may be read; anything else of its name is an error."""
    try:
        mode = Path(path).stat().st_mode
    except OSError as error:
        if not Path(path).is_symlink():
            raise
        if error.errno == errno.ELOOP:
            raise DataError("is a link that leads back to itself", source=path) from None
        reason = (
            f"is a link to {os.readlink(path)}, which is not there: fetch what it stands for"  # noqa: PTH115
            " (git annex get, datalad get, dvc pull), or take it out"
        )
        raise DataError(reason, source=path) from None
    if not stat.S_ISREG(mode):
        raise DataError("is a pipe, a socket or a device, not a plain file", source=path)
    if not os.access(path, os.R_OK):
        raise DataError("may not be read: its permissions forbid it", source=path)
    return path


def outside_results(paths: list[str], folder: str, is_result: Callable[[str], bool]) -> list[str]:
    """The files of a folder but for those below it in folders that covington has filled, if there are any others.

    What a corpus was parsed to may lie in its own folder, and is no part of it.
    """
    start = within(folder)
    below = {path: parents(path.removeprefix(start)) for path in paths}
    results = {place for places in below.values() for place in places if is_result(start + place)}
    return [path for path in paths if results.isdisjoint(below[path])] or paths


def parents(name: str) -> list[str]:
    """The folders of a relative path.

    >>> parents("a/b/c.conllu")
    ['a', 'a/b']
    """
    parts = name.split("/")[:-1]
    return ["/".join(parts[: count + 1]) for count in range(len(parts))]


def _is_result(folder: str) -> bool:
    return any(Path(folder, mark).exists() for mark in RESULTS)


def _named(path: str) -> str:
    """The path, if it can be written down."""
    try:
        path.encode()
    except UnicodeEncodeError:
        name = path.encode(errors="surrogateescape").decode(errors="backslashreplace")
        raise DataError("its name is not in UTF-8: give it another", source=name) from None
    return path


def _inside(folder: str) -> Iterator[str]:
    """All that is no folder in a folder and below it, and not hidden; where several links lead, it goes once."""
    seen = set()
    for at, below, names in os.walk(folder, onerror=_fail, followlinks=True):
        below[:] = sorted(name for name in below if not name.startswith((".", "_")))
        if real(at) in seen:
            below.clear()
            continue
        seen.add(real(at))
        for name in names:
            if not name.startswith((".", "_")):
                yield os.path.join(at, name)  # noqa: PTH118 (keeps the name as it was given)


def _fail(error: OSError) -> None:
    raise error


def distinct(paths: Iterable[str]) -> list[str]:
    """Paths in their order, of several that lead to the same file only the first."""
    found: dict[str, str] = {}
    for path in paths:
        found.setdefault(real(path), path)
    return list(found.values())


def is_input(name: str) -> bool:
    """Whether a file in a folder has sentences, by its path from there.

    Names that start with a dot or an underscore are nobody's data: work in progress, markers, rejects.
    """
    if any(part.startswith((".", "_")) for part in name.split("/")) or name.endswith(REJECTS):
        return False
    name = name.lower()
    for compression in COMPRESSIONS:
        name = name.removesuffix(compression)
    return name.endswith(ENDINGS)


def is_match(path: str, pattern: str) -> bool:
    """Whether a file that fits a glob is meant by it: a wildcard passes over what a folder would, see `is_input`.

    >>> [is_match(path, "out/**/*.parquet") for path in ("out/a.parquet", "out/_rejects/a.parquet")]
    [True, False]
    >>> is_match("out/_rejects/a.parquet", "out/_rejects/*"), is_match("out/_a.parquet", "out/_*")
    (True, True)
    """
    parts = pattern.split("/")
    fixed = next((place for place, part in enumerate(parts) if GLOB & set(part)), len(parts))
    if fixed < len(parts) and path.endswith(REJECTS):
        return False
    hidden = (".", "_")
    return any(part.startswith(hidden) for part in parts[fixed:]) or not any(
        part.startswith(hidden) for part in path.split("/")[fixed:]
    )


def is_sentence_file(output: str) -> bool:
    """Whether the name of an output is that of one file of sentences, by its ending, or `-`.

    >>> [is_sentence_file(name) for name in ("-", "a.conllu", "a.conllu.gz", "a.parquet", "a.parquet.gz", "a")]
    [True, True, True, True, False, False]
    """
    return output == "-" or output.endswith(
        (".parquet", ".conllu", *(f".conllu{end}" for end in COMPRESSIONS))
    )


def keep_apart(inputs: Iterable[str], outputs: Iterable[str | None]) -> None:
    """Refuse an output that is one of the input files, or a folder that holds one, by whatever way it was named."""
    places = [(output, within(real(output))) for output in outputs if output and output != "-"]
    for file in inputs:
        for output, place in places:
            if f"{real(file)}/".startswith(place):
                raise OptionError(f"{file} is an input, so the output cannot go to {output}")

"""A corpus, a model, the command as a process of its own, and a count of what became of every sentence."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq

from tests.support.folders import results
from tests.support.sample import SAMPLE

_EXPECTED: dict[tuple[int, int, bytes], dict[str, bytes]] = {}
_SENT_ID = re.compile(rb"^# sent_id = (.+)$", re.MULTILINE)


class CannotBeDoneError(Exception):
    """A fault that cannot be made on this machine, and why."""


@dataclass(frozen=True)
class Row:
    """One row of the table: what was done, what covington did, what was lost, and the counts behind that."""

    fault: str
    happened: str
    lost: str
    counts: str


@dataclass
class Done:
    """A command that ended."""

    code: int
    said: str

    @property
    def sentence(self) -> str:
        """What it said, which must be one sentence and no traceback."""
        lines = self.said.strip().splitlines()
        assert len(lines) == 1 and "Traceback" not in self.said, self.said
        return lines[0].removeprefix("covington: ")


@dataclass
class Command:
    """`covington` as a process that leads a session of its own."""

    arguments: Sequence[str | Path]
    prefix: Sequence[str] = ()
    folder: Path | None = None  # to run in
    _process: subprocess.Popen[str] = field(init=False)

    def __post_init__(self) -> None:
        command = [*self.prefix, sys.executable, "-m", "covington", *map(str, self.arguments)]
        self._process = subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def when(
        self, condition: Callable[[], object], act: Callable[[], object], seconds: float = 900
    ) -> Command:
        """Wait until something is so while the command runs, then act."""
        end = time.monotonic() + seconds
        while not condition():
            if self._process.poll() is not None:
                raise AssertionError(f"it ended too soon: {self.done()}")
            assert time.monotonic() < end, "it never came so far"
            time.sleep(0.01)
        act()
        return self

    def kill(self) -> None:
        os.killpg(self.pid, signal.SIGKILL)

    def done(self, seconds: float = 1200) -> Done:
        said = self._process.communicate(timeout=seconds)[1]
        return Done(self._process.returncode, said)


@dataclass
class Bench:
    """A folder to work in, with a corpus of its own for every fault."""

    folder: Path
    model: str
    count: int = 12  # files
    times: int = 40  # the sample of 42 sentences in every file

    @property
    def corpus(self) -> Path:
        return self.folder / "corpus"

    @property
    def output(self) -> Path:
        return self.folder / "parsed"

    def make_corpus(self) -> Bench:
        """Files whose sentences have ids that no other has; every tenth sentence of the second is bad."""
        self.corpus.mkdir(parents=True)
        sentences = Path(SAMPLE).read_bytes().strip().split(b"\n\n")
        for number in range(self.count):
            parts = []
            for at, sentence in enumerate(sentences * self.times):
                name = b"# sent_id = %d-%d" % (number, at)
                bad = number == 1 and at % 10 == 9
                parts.append(name + b"\n1\tno\ttabs" if bad else _SENT_ID.sub(name, sentence))
            self.file(number).write_bytes(b"\n\n".join(parts) + b"\n\n")
        return self

    def file(self, number: int) -> Path:
        return self.corpus / f"{number:02d}.conllu"

    def parse(self, *more: str | Path, prefix: Sequence[str] = ()) -> Command:
        """One thread, so that shards are made in the order of the files."""
        return self._parse_to(self.output, *(more or ("--threads", "1")), prefix=prefix)

    def _parse_to(self, output: Path, *more: str | Path, prefix: Sequence[str] = ()) -> Command:
        # the input by its short name, which is the `source` of every row: so all benches have the same output
        call = ("parse", self.corpus.name, "-o", output, "--model", self.model, *more)
        return Command(call, prefix, self.folder)

    def shards(self) -> int:
        """How many shards there are under their final names; each must be whole."""
        found = sorted(self.output.glob("shard-*"))
        for path in found:
            assert pq.read_metadata(path).num_rows
        return len(found)

    def begun(self) -> bool:
        return any(self.output.glob("shard-*"))

    def expected(self) -> dict[str, bytes]:
        """The output of the same command when nothing goes wrong."""
        key = (self.count, self.times, Path(self.model).read_bytes())
        if key not in _EXPECTED:
            folder = self.folder / "expected"
            assert self._parse_to(folder, "--threads", "1").done().code == 0
            _EXPECTED[key] = results(folder)
        return _EXPECTED[key]

    def counts(self) -> str:
        """Every id of the corpus must come out once for each time it went in, parsed or rejected."""
        went_in: Counter[str] = Counter()
        for path in self.corpus.glob("*.conllu"):
            went_in.update(name.decode() for name in _SENT_ID.findall(path.read_bytes()))
        parsed, rejected = ids(self.output), ids(self.output / "_rejects")
        assert parsed + rejected == went_in, (went_in - parsed - rejected, parsed + rejected - went_in)
        return f"{went_in.total():,} in, {parsed.total():,} out, {rejected.total():,} rejected"


def ids(folder: Path) -> Counter[str]:
    """The ids of all sentences in the Parquet files of a folder."""
    found: Counter[str] = Counter()
    for path in folder.glob("*.parquet"):
        found.update(pq.read_table(path, columns=["sent_id"]).column(0).to_pylist())
    return found

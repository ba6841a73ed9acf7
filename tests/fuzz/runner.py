"""Damages files again and again, keeps the inputs that were new or that broke something, and counts."""

from __future__ import annotations

import hashlib
import json
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.mutations import mutate

#: Gets damaged bytes and says what became of them; raises if that was anything but refused or read.
Target = Callable[[bytes, random.Random], str]

CORPUS = Path(__file__).parent / "corpus"
_LARGEST = 8_192  # bytes of an input that is kept because it was new
_MOST = 60  # inputs kept for one reader
_PAUSE = 5_000  # executions between two entries in the ledger


@dataclass(frozen=True)
class Fuzzer:
    """A reader under attack: sound files to damage, and what must be true of what comes out."""

    name: str
    reader: str  # fuzzers of the same reader share a folder of the corpus
    seeds: Callable[[], list[bytes]]
    target: Target

    @property
    def folder(self) -> Path:
        return CORPUS / self.reader

    def corpus(self) -> list[Path]:
        """The inputs that were kept, in the order of their names."""
        return sorted(path for path in self.folder.glob("*") if path.is_file())


@dataclass
class Ledger:
    """How often each fuzzer ran and what it was answered, over all runs that used the same file."""

    path: Path | None = None
    entries: dict[str, dict[str, object]] = field(default_factory=dict)

    @staticmethod
    def read(path: Path | None) -> Ledger:
        known = path is not None and path.exists()
        return Ledger(path, json.loads(path.read_text()) if path is not None and known else {})

    def executions(self, name: str) -> int:
        count = self.entries.get(name, {}).get("executions", 0)
        assert isinstance(count, int)
        return count

    def add(self, name: str, answers: Counter[str], seconds: float) -> None:
        entry = self.entries.get(name, {"executions": 0, "seconds": 0.0, "answers": {}})
        assert isinstance(entry["seconds"], float) and isinstance(entry["answers"], dict)
        self.entries[name] = {
            "executions": self.executions(name) + sum(answers.values()),
            "seconds": round(entry["seconds"] + seconds, 1),
            "answers": dict(sorted((Counter(entry["answers"]) + answers).items())),
        }
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            part = self.path.with_suffix(".part")
            part.write_text(json.dumps(self.entries, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
            part.replace(self.path)


def run(
    fuzzer: Fuzzer, executions: int, seed: int, ledger: Ledger, grow: bool = False, keep: Path | None = None
) -> Counter[str]:
    """Go on from where the ledger ends until `executions` are reached; what the answers were this time.

    Every execution has a number, and the same number and seed do the same damage to the same seeds.
    `keep` gets every input before it is tried, so that a crash of the whole process leaves its cause.
    """
    seeds = [*fuzzer.seeds(), *(path.read_bytes() for path in fuzzer.corpus())]
    known = {summary(fuzzer.target(seed_, random.Random(0))) for seed_ in seeds}
    total: Counter[str] = Counter()
    for first in range(ledger.executions(fuzzer.name), executions, _PAUSE):
        started = time.perf_counter()
        answers: Counter[str] = Counter()
        for data, answer in damaged(fuzzer, seeds, range(first, min(first + _PAUSE, executions)), seed, keep):
            short = summary(answer)
            answers[short] += 1
            if grow and short not in known and len(data) <= _LARGEST and len(fuzzer.corpus()) < _MOST:
                known.add(short)
                seeds.append(data)
                save(fuzzer, data)
        ledger.add(fuzzer.name, answers, time.perf_counter() - started)
        total += answers
    return total


def damaged(
    fuzzer: Fuzzer, seeds: Sequence[bytes], numbers: range, seed: int, keep: Path | None = None
) -> Iterator[tuple[bytes, str]]:
    """Inputs and what the target answered; an input that breaks something is put into the corpus."""
    random_ = random.Random()
    for number in numbers:
        random_.seed((seed << 40) + number)
        data = mutate(random_, random_.choice(seeds), random_.choice(seeds))
        if keep is not None:
            keep.write_bytes(data)
        try:
            answer = fuzzer.target(data, random_)
        except Exception as error:
            place = save(fuzzer, data, "broken-")
            reason = f"{type(error).__name__}: {error} (execution {number}, seed {seed}, kept as {place})"
            raise AssertionError(reason) from error
        yield data, answer


def save(fuzzer: Fuzzer, data: bytes, prefix: str = "") -> Path:
    """Put an input into the corpus, under a name made from its bytes."""
    path = fuzzer.folder / f"{prefix}{hashlib.sha256(data).hexdigest()[:12]}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def summary(answer: str) -> str:
    """The first words of an answer without what differs from input to input: numbers, quoted and odd text.

    >>> summary("refused: column 'x7' has 31 rows, not 5\\nand more")
    'refused: column _ has _ rows, not _'
    """
    first = answer.splitlines()[0]
    plain = re.sub(r"(?<!\w)'(?:\\.|[^'\\])*'?|\"[^\"]*\"?|[-+]?\d[\w.]*|[^ -~]+", "_", first)
    return " ".join(plain.split(" ")[:9])

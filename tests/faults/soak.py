"""Parses corpora one after the other for a long time while something goes wrong every minute.

    make soak MINUTES=30

One process parses; another makes a fault every minute, mends it, and looks at the memory of the first. Every sentence
must come out of its job, parsed or rejected, by its id; the memory must not grow.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from covington.errors import CovingtonError
from tests.faults.bench import Bench, CannotBeDoneError
from tests.faults.places import small_disk

PAGE = Path(__file__).parents[2] / "docs" / "faults.md"
BEGIN, END = "<!-- soak: `make soak` writes from here -->", "<!-- to here, soak -->"
FILES, TIMES = 10, 20  # of the sample's 42 sentences: 8,400 sentences a job, some seconds
WARM_UP = 120.0  # seconds in which a new process finds its size


# the process that parses


def work(folder: Path) -> None:
    """Parse job after job; one that fails is run again, as its user would, and goes on where it stopped."""
    from covington.pipelines import ParseJob, Runner

    number = len((folder / "results").read_text().splitlines()) if (folder / "results").exists() else 0
    while not (folder / "stop").exists():
        bench = Bench(folder / "jobs" / f"{number:05d}", str(folder / "model.covington"), FILES, TIMES)
        output = folder / "disk" / f"{number:05d}"
        if not (bench.folder / "ready").exists():
            shutil.rmtree(bench.folder, ignore_errors=True)
            bench.make_corpus()
            (bench.folder / "ready").touch()
        failures = 0
        began = time.monotonic()
        while True:
            try:
                ParseJob([str(bench.corpus)], str(output), bench.model).run(Runner(threads=1))
                break
            except CovingtonError as error:
                failures += 1
                _append(folder / "failures", {"job": number, "said": str(error)})
                if failures > 200:
                    raise
                time.sleep(0.5)
        (bench.folder / "parsed").symlink_to(output)
        counts = bench.counts()
        _append(
            folder / "results",
            {"job": number, "counts": counts, "failures": failures, "seconds": time.monotonic() - began},
        )
        shutil.rmtree(output)
        shutil.rmtree(bench.folder)
        number += 1


def _append(path: Path, facts: dict[str, object]) -> None:
    with path.open("a") as file:
        file.write(json.dumps(facts) + "\n")


# the process that makes faults


@dataclass
class Soak:
    """The folder of a soak, the process that parses in it, and what was seen."""

    folder: Path
    minutes: float
    process: subprocess.Popen[bytes] = field(init=False)
    memory: list[tuple[int, float, float]] = field(default_factory=list)  # (process, seconds, MB)
    made: dict[str, int] = field(default_factory=dict)
    lives: int = 0

    def start(self) -> None:
        command = (sys.executable, "-m", "tests.faults.soak", "--work", self.folder)
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [str(part) for part in command], stdout=log, stderr=log, start_new_session=True
            )
        self.lives += 1

    @property
    def job(self) -> Path:
        """The newest job; before there is one, a path that is none."""
        return max((self.folder / "jobs").iterdir(), default=self.folder / "none")

    def failures(self) -> int:
        path = self.folder / "failures"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def look(self, began: float) -> None:
        """Note how much memory of its own the process has; pages of files are not counted."""
        with contextlib.suppress(OSError, StopIteration):
            status = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
            line = next(line for line in status if line.startswith("RssAnon"))
            self.memory.append((self.lives, time.monotonic() - began, int(line.split()[1]) / 1024))

    def run(self) -> None:
        """A fault every minute, until the time is over; then the last job is let come to its end."""
        faults: list[Callable[[], None]] = [
            self.file_disappears,
            self.disk_is_full,
            self.file_shrinks,
            self.killed,
            self.model_is_overwritten,
            self.file_is_replaced,
            self.stopped,
        ]
        self.start()
        self.wait_for_a_new_job()
        began = time.monotonic()
        due, number = began + 60, 0
        while time.monotonic() < began + 60 * self.minutes:
            time.sleep(2)
            self.look(began)
            self.check_alive()
            if time.monotonic() >= due:
                due += 60
                fault = faults[number % len(faults)]
                number += 1
                # one process for the last two thirds, so that its memory can be looked at for long
                if fault == self.killed and time.monotonic() > began + 20 * self.minutes:
                    fault = self.file_disappears
                self.wait_for_a_new_job()
                fault()
                name = fault.__name__.replace("_", " ")
                self.made[name] = self.made.get(name, 0) + 1
        (self.folder / "stop").touch()
        self.process.wait(timeout=600)

    def wait_for_a_new_job(self) -> None:
        """Until a job has its first shards, so that the fault comes into the middle of it."""
        before = self.job
        while True:
            time.sleep(0.05)
            with contextlib.suppress(OSError, ValueError):
                if self.job != before and any((self.folder / "disk" / self.job.name).glob("shard-*")):
                    return
            self.check_alive()

    def check_alive(self) -> None:
        if self.process.poll() is not None:
            raise AssertionError(f"the process ended: {(self.folder / 'log').read_text()[-3000:]}")

    @contextlib.contextmanager
    def _changed(self) -> Iterator[Path]:
        """The last file of the job; put back after the process has complained, or after some seconds."""
        file = self.job / "corpus" / f"{FILES - 1:02d}.conllu"
        kept, times = file.read_bytes(), file.stat()
        yield file
        self._wait_for_a_complaint()
        aside = self.folder / "aside"
        aside.write_bytes(kept)
        os.utime(aside, ns=(times.st_atime_ns, times.st_mtime_ns))
        aside.replace(file)

    def _wait_for_a_complaint(self) -> None:
        before, end = self.failures(), time.monotonic() + 20
        while self.failures() == before and time.monotonic() < end:
            time.sleep(0.05)

    def file_disappears(self) -> None:
        with self._changed() as file:
            file.unlink()

    def file_shrinks(self) -> None:
        with self._changed() as file:
            os.truncate(file, file.stat().st_size // 3)

    def file_is_replaced(self) -> None:
        with self._changed() as file:
            aside = self.folder / "aside"
            aside.write_bytes(file.read_bytes().replace(b"NOUN", b"VERB"))
            aside.replace(file)

    def disk_is_full(self) -> None:
        ballast = self.folder / "disk" / "ballast"
        with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(1 << 16))
        self._wait_for_a_complaint()
        ballast.unlink()

    def model_is_overwritten(self) -> None:
        one, other = self.folder / "model.covington", self.folder / "other.covington"
        mine, its = one.read_bytes(), other.read_bytes()
        one.write_bytes(its)
        other.write_bytes(mine)

    def stopped(self) -> None:
        os.kill(self.process.pid, signal.SIGSTOP)
        time.sleep(5)
        os.kill(self.process.pid, signal.SIGCONT)

    def killed(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.start()

    def report(self) -> list[str]:
        """The lines for the page; an AssertionError where something was lost or the memory grew."""
        results = [json.loads(line) for line in (self.folder / "results").read_text().splitlines()]
        assert [one["job"] for one in results] == list(range(len(results)))
        numbers = [
            [int(part.split()[0].replace(",", "")) for part in one["counts"].split(", ")] for one in results
        ]
        went_in, out, rejected = map(sum, zip(*numbers, strict=True))
        assert went_in == out + rejected
        first, last = self._memory()
        said = [json.loads(line)["said"] for line in (self.folder / "failures").read_text().splitlines()]
        faults = ", ".join(f"{name} {times} ×" for name, times in sorted(self.made.items()))
        lines = [
            f"{self.minutes:.0f} minutes, one thread, one fault a minute ({faults}).",
            "",
            "| | |",
            "|---|---|",
            f"| jobs that came to their end | {len(results):,} |",
            f"| sentences in | {went_in:,} |",
            f"| sentences out, and rejected | {out:,} + {rejected:,} |",
            f"| sentences in, less those out and rejected | {went_in - out - rejected} |",
            f"| times that a job failed, with one sentence, and was started again | {len(said)} |",
            f"| memory of the last process, first quarter and last quarter of its life | {first:.0f} MB,"
            f" {last:.0f} MB |",
        ]
        assert all(len(one.splitlines()) == 1 for one in said)
        assert last < 1.1 * first + 5, f"the memory grew from {first:.0f} to {last:.0f} MB"
        return lines

    def _memory(self) -> tuple[float, float]:
        """Medians over the first and the last quarter of the life of the last process, once it is warm."""
        own = [(at, size) for life, at, size in self.memory if life == self.lives]
        warm = min(WARM_UP, (own[-1][0] - own[0][0]) / 4)
        sizes = [size for at, size in own if at >= own[0][0] + warm]
        quarter = max(1, len(sizes) // 4)
        return statistics.median(sizes[:quarter]), statistics.median(sizes[-quarter:])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--write", action="store_true", help="put the result into docs/faults.md")
    parser.add_argument("--keep", type=Path, help="a folder for the measurements")
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        work(arguments.work)
        return 0
    from tests.faults.__main__ import small_model

    with tempfile.TemporaryDirectory(prefix="covington-soak-") as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        try:
            stack.enter_context(small_disk(folder / "disk", "200m"))
        except CannotBeDoneError as error:
            print(f"{error}; the soak needs one")
            return 3
        (folder / "jobs").mkdir()
        small_model(folder, "model.covington", epochs=3)
        small_model(folder, "other.covington", epochs=2)
        soak = Soak(folder, arguments.minutes)
        try:
            soak.run()
        finally:
            soak.process.kill()
            soak.process.wait()
        if arguments.keep:
            arguments.keep.mkdir(parents=True, exist_ok=True)
            (arguments.keep / "memory.json").write_text(json.dumps(soak.memory))
            for kept in ("results", "failures"):
                shutil.copy(folder / kept, arguments.keep)
        lines = soak.report()
    print("\n".join(lines))
    if arguments.write:
        before, _, rest = PAGE.read_text().partition(BEGIN)
        PAGE.write_text("\n".join([before + BEGIN, "", *lines, "", END + rest.partition(END)[2]]))
    return 0


if __name__ == "__main__":
    sys.exit(main())

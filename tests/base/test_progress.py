"""The bar: never wider than the terminal, and as far as the work is."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import termios
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import covington
from covington import models
from covington.base.progress import Progress
from covington.corpus.parquet.tables import write_parquet
from covington.engine.shards import Shard
from covington.engine.streaming import Job, ParseStream
from covington.engine.work import parse_text
from covington.parsing.parser import Parser


@pytest.mark.parametrize("columns", [0, 20, 40, 60, 80, 100, 200])
def test_a_line_fits_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
    with os.fdopen(slave, "w") as stream, Progress("parsing", stream=stream) as progress:
        monkeypatch.setattr("covington.base.progress._REDRAW", 0.0)
        progress._started -= 1000  # seconds
        for tokens, fraction in ((0, None), (123_456_789, 0.1), (123_456_789, 0.5), (1, 1.0)):
            progress.add(tokens, fraction)
            assert len(progress.line()) < (columns or 80)
        bar = "[" in progress.line()
        assert bar == (columns == 0 or columns >= 80)
        assert progress.line().startswith("parsing"[: max(columns, 8) - 1])
    drawn = os.read(master, 100_000).decode()
    os.close(master)
    assert all(len(line) < (columns or 80) for line in drawn.split("\r"))


class _Noted(Progress):
    fractions: list[float | None]

    def add(self, tokens: int, fraction: float | None = None) -> None:
        self.__dict__.setdefault("fractions", []).append(fraction)


def test_a_stream_gives_what_is_ready() -> None:
    """However many threads there are: what comes after may be long in coming, as from a tagger."""
    stream = ParseStream(["-"], "-", threads=16)
    shard = Shard(0, 0, *parse_text(models.sample().read_bytes(), "-", 0, 1), 42)
    has_come = threading.Event()

    def jobs() -> Iterator[Job]:
        yield Job(lambda: shard, 0)
        number = 0
        while not has_come.wait(0.01) and number < 32:  # of so many none need come, with 16 threads
            number += 1
            yield Job(lambda: shard, number)

    for number, done in enumerate(stream._in_order(jobs())):
        has_come.set()
        assert done.read == number
    assert number < 32


@pytest.mark.parametrize("kind", ["conllu", "parquet"])
def test_as_far_as_what_is_written(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And not as far as what was read ahead, or as files are begun."""
    monkeypatch.setattr("covington.engine.streaming._BLOCK", 1 << 19)
    monkeypatch.setattr("covington.engine.streaming._ROWS", 2_000)
    text = models.sample().read_bytes() * 300
    corpus = tmp_path / f"corpus.{kind}"
    (tmp_path / "text.conllu").write_bytes(text)
    if kind == "parquet":
        write_parquet(covington.read_conllu(tmp_path / "text.conllu"), corpus)
    else:
        corpus.write_bytes(text)
    progress = _Noted("parsing", show=False)
    ParseStream([str(corpus)], str(tmp_path / "out.conllu")).run(Parser.load("en_ewt"), progress)
    told = [part for part in progress.fractions if part is not None]
    assert len(told) == len(progress.fractions) > 5
    assert told == sorted(told) and 0 < told[0] < 0.3 and told[-1] == 1.0

"""Every input that was ever kept, and a short run of every fuzzer; run_sanitized.sh makes a long one."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.fuzz import FUZZERS
from tests.fuzz.runner import CORPUS, Fuzzer, Ledger, run, save, summary


@pytest.mark.parametrize("name", list(FUZZERS))
def test_kept_inputs_are_refused_or_read(name: str) -> None:
    fuzzer = FUZZERS[name]
    kept = fuzzer.corpus()
    assert kept, "the corpus has gone"
    for path in kept:
        for seed in range(4):  # targets take liberties with an input, as the generator tells them
            assert fuzzer.target(path.read_bytes(), random.Random(seed))


@pytest.mark.parametrize("name", list(FUZZERS))
def test_damage_is_refused_or_read(name: str) -> None:
    answers = run(FUZZERS[name], 500, 1, Ledger())
    assert sum(answers.values()) == 500
    assert len(answers) > 1, "every input gave the same answer: the damage is too small or too big"


def test_kept_inputs_are_few_and_small() -> None:
    sizes = [path.stat().st_size for path in CORPUS.rglob("*") if path.is_file()]
    assert max(sizes) <= 8_192
    assert sum(sizes) < 1 << 20


def test_a_run_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.fuzz.runner.CORPUS", tmp_path / "corpus")
    monkeypatch.setattr("tests.fuzz.runner._PAUSE", 7)
    tried: list[bytes] = []

    def target(data: bytes, _: random.Random) -> str:
        if len(tried) == 20:
            tried.append(b"")
            raise KeyboardInterrupt
        tried.append(data)
        return f"length {len(data)}"

    fuzzer = Fuzzer("lengths", "lengths", lambda: [b"0123456789"], target)
    ledger = tmp_path / "ledger.json"
    with pytest.raises(KeyboardInterrupt):
        run(fuzzer, 30, 1, Ledger.read(ledger))
    assert Ledger.read(ledger).executions("lengths") == 14
    run(fuzzer, 30, 1, Ledger.read(ledger))
    assert Ledger.read(ledger).executions("lengths") == 30
    first, again = tried[1:20], tried[22:]  # each run tries the sound input before all others
    assert first[14:] == again[: len(first) - 14] and len(again) == 16
    run(fuzzer, 30, 1, Ledger.read(ledger))
    assert Ledger.read(ledger).executions("lengths") == 30


def test_what_breaks_a_reader_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.fuzz.runner.CORPUS", tmp_path)

    def target(data: bytes, _: random.Random) -> str:
        if data != b"sound":
            raise IndexError("out of range")
        return "read"

    fuzzer = Fuzzer("breaks", "breaks", lambda: [b"sound"], target)
    with pytest.raises(AssertionError, match=r"IndexError: out of range .*kept as"):
        run(fuzzer, 100, 1, Ledger())
    (kept,) = fuzzer.corpus()
    assert kept.name.startswith("broken-") and kept.read_bytes() != b"sound"
    assert save(fuzzer, b"new").read_bytes() == b"new"


def test_answers_are_told_apart_by_their_words() -> None:
    assert summary("rejected: HEAD 'x y' is not the number") == summary(
        'rejected: HEAD "x\'" is not the number'
    )
    assert summary("refused: Couldn't do 17 at 0x3f") == "refused: Couldn't do _ at _"

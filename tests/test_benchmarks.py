"""The benchmark runs as a whole, says what is absent, and fills in the pages from what it measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import capacity, peers, rounding
from benchmarks.__main__ import SECTIONS, main
from benchmarks.corpora import joined, near, sample, whole
from benchmarks.plot import plot
from benchmarks.timing import BenchmarkError, Probe, spread
from covington import models
from covington.corpus.columns import word_counts
from covington.model.options import TrainingOptions


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("benchmark")
    nothing = place / "no-peers"
    assert (
        main(["--quick", "--output", str(place), "--work", str(place / "work"), "--peers", str(nothing)]) == 0
    )
    return place


@pytest.mark.slow
def test_a_quick_run_measures_every_part(folder: Path) -> None:
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert all(part in results for part in SECTIONS)
    text = (folder / "RESULTS.md").read_text(encoding="utf-8")
    for title in (
        "Parser core",
        "Training",
        "Training in shards",
        "Files",
        "CoNLL-U to Parquet",
        "Load time",
        "Growth",
    ):
        assert f"## {title}" in text
    assert "its numbers mean nothing" in text
    assert plot(results) == (folder / "results.svg").read_text(encoding="utf-8")


@pytest.mark.slow
def test_absent_peers_are_named(folder: Path) -> None:
    text = (folder / "RESULTS.md").read_text(encoding="utf-8")
    for name in peers.PEERS:
        assert f"Absent: {name}, because " in text


@pytest.mark.slow
def test_capacity_is_filled_in_between_its_marks(folder: Path, tmp_path: Path) -> None:
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    page = tmp_path / "capacity.md"
    page.write_text(f"before\n{capacity.BEGIN}\nold\n{capacity.END}\nafter\n", encoding="utf-8")
    for _ in range(2):  # filling in again changes nothing
        capacity.fill_in(page, results)
        text = page.read_text(encoding="utf-8")
        assert text.startswith("before\n") and text.endswith("\nafter\n") and "old" not in text
        assert "core-hour" in text
        assert text.count(capacity.BEGIN) == text.count(capacity.END) == 1


def test_the_page_has_the_marks() -> None:
    text = (Path(__file__).parents[1] / "docs" / "capacity.md").read_text(encoding="utf-8")
    assert capacity.BEGIN in text and capacity.END in text


def test_a_probe_runs_in_a_process_of_its_own() -> None:
    arguments = {"corpus": sample().train, "options": {"templates": "paper"}, "epochs": 1}
    found = Probe("training", "train", arguments).run()
    assert found["tokens"] > 300 and len(found["epochs"]) == 1


def test_a_probe_that_fails_says_why() -> None:
    with pytest.raises(BenchmarkError, match="FileNotFoundError"):
        Probe("files", "run", {"corpus": "no such file", "work": "read_conllu"}).run()


def test_joined_sentences_have_their_length() -> None:
    batch = whole(sample().test)
    assert word_counts(joined(batch, 70, 3)).tolist() == [70, 70, 70]
    assert all(abs(words - 10) <= 1 for words in word_counts(near(batch, 10)))


def test_spread() -> None:
    found = spread([3.0, 1.0, 2.0, 5.0, 4.0])
    assert (found["min"], found["lower quartile"], found["median"], found["max"]) == (1.0, 2.0, 3.0, 5.0)


@pytest.mark.parametrize(
    "options",
    [
        TrainingOptions(templates="paper", epochs=2),
        TrainingOptions(templates="paper", epochs=2, oracle="monotonic", root="explicit"),
        TrainingOptions(templates="paper", epochs=2, repairs="shared", accept="all", target="best"),
    ],
    ids=["upper", "monotonic", "shared"],
)
def test_rounding_is_told_from_pruning(options: TrainingOptions, tmp_path: Path) -> None:
    for part in ("train", "test"):
        (tmp_path / f"a-{part}.conllu").write_bytes(models.sample().read_bytes())
    exact, frozen, *pruned = rounding.measure(tmp_path, options)
    assert exact[1] == "as they are"
    assert int(frozen[4]) <= 2 < int(pruned[-1][4].replace(",", ""))
    assert float(pruned[-1][5]) < float(frozen[5])

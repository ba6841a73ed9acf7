"""The loss study: what is recorded in training, how it is averaged, and the command that prints it."""

from __future__ import annotations

import json
import os
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from covington.commands import cli
from covington.errors import DataError, OptionError
from covington.model.options import TrainingOptions
from covington.study import bounds, oracle
from tests.support.batches import batch, sentence
from tests.support.reference import all_trees

OPTIONS = TrainingOptions(
    oracle="lower",
    templates="paper",
    root="explicit",
    accept="all",
    target="best",
    repairs="shared",
    explore=0.9,
    explore_from=1,
    epochs=3,
)


def small_treebank() -> list[dict[str, object]]:
    """Sixty trees of five words, many of them non-projective, that no parser learns at once."""
    return [
        sentence("a b c d e", heads, upos="A B C D E" if number % 2 else "E D C B A", position=number)
        for number, heads in enumerate(all_trees(5)[5::22])
    ]


@pytest.fixture(scope="module")
def configurations() -> bounds.Configurations:
    return bounds.collect([batch(*small_treebank())], OPTIONS, 2_000)


def test_what_is_recorded_is_one_walk_after_another(configurations: bounds.Configurations) -> None:
    """Every configuration follows from the one before by a transition, or is the first of a sentence."""
    assert len(configurations) == 2_000
    previous, starts = None, 0
    for place in range(len(configurations)):
        start, end = configurations.start[place : place + 2]
        heads = configurations.heads[start:end].tolist()
        here = (heads, int(configurations.left[place]), int(configurations.right[place]))
        if here == ([-1] * 5, 0, 1):
            starts += 1
        else:
            assert previous is not None
            assert here in successors(*previous)
        previous = here
    assert starts >= 60


def successors(heads: list[int], i: int, j: int) -> list[tuple[list[int], int, int]]:
    found = []
    for transition in oracle.TRANSITIONS:
        try:
            found.append(oracle.apply(heads, i, j, transition))
        except OptionError:
            continue
    return found


@pytest.mark.parametrize("root", ["explicit", "implicit"])
@pytest.mark.parametrize("threads", [1, 3])
def test_the_study_agrees_with_one_configuration_at_a_time(threads: int, root: str) -> None:
    configurations = bounds.collect([batch(*small_treebank())], replace(OPTIONS, root=root), 2_000)
    losses = bounds.measure(configurations, root, threads=threads)
    assert losses.known.all()
    for place in range(0, len(configurations), 3):
        sentence_number = configurations.sentence[place]
        gold_start, gold_end = configurations.gold_start[sentence_number : sentence_number + 2]
        start, end = configurations.start[place : place + 2]
        arguments = (
            configurations.heads[start:end].tolist(),
            configurations.gold[gold_start:gold_end].tolist(),
            int(configurations.left[place]),
            int(configurations.right[place]),
        )
        wanted = oracle.loss_bounds(*arguments, root)
        assert (losses.lower[place], losses.pc_upper[place], losses.upper[place]) == wanted
        assert losses.lowest[place] == oracle.exact_loss(*arguments, root)


def test_configurations_of_all_epochs_count_until_the_limit() -> None:
    """Three epochs do not reach a limit of a hundred thousand; one that is reached in the third ends it."""
    few = [batch(*small_treebank()[:5])]
    whole = len(bounds.collect(few, OPTIONS, 100_000))
    one = len(bounds.collect(few, replace(OPTIONS, epochs=1), 100_000))
    two = len(bounds.collect(few, replace(OPTIONS, epochs=2), 100_000))
    assert 0 < one < two < whole < 100_000
    assert len(bounds.collect(few, OPTIONS, two + 1)) == two + 1


def numbers(*values: int) -> bounds.Numbers:
    return np.array(values, np.int32)


def test_averages_by_hand() -> None:
    losses = bounds.Losses(
        lower=numbers(0, 0, 1, 3, 1),
        lowest=numbers(0, 0, 2, 4, 1),
        highest=numbers(0, 0, 2, 4, 2),  # the last one is not known
        pc_upper=numbers(0, 0, 2, 5, 2),
        upper=numbers(0, 1, 3, 5, 2),
        nodes=np.array([0, 0, 5, 7, 9]),
        seconds=0.0,
    )
    row = bounds.summarise("x", losses)
    assert (row["transitions"], row["not_known"], row["searched"], row["most_nodes"]) == (5, 1, 3, 9)
    assert (row["lower"], row["loss"], row["pc_upper"], row["upper"]) == (1.0, 1.5, 1.75, 2.25)
    assert row["relative_difference"] == pytest.approx(
        {"lower": (0 + 0 + 1 / 2 + 1 / 4) / 4, "pc_upper": (1 / 4) / 4, "upper": (0 + 1 / 2 + 1 / 4) / 3}
    )
    assert row["without_relative_difference"] == {"lower": 0, "pc_upper": 0, "upper": 1}
    assert row["below_or_equal_to_loss"] == {"lower": 1.0, "pc_upper": 3 / 4, "upper": 1 / 4}
    assert row["in_order"]


@pytest.mark.parametrize("broken", [{"lower": 3}, {"pc_upper": 2}, {"upper": 3}])
def test_one_bound_out_of_order_is_told(broken: dict[str, int]) -> None:
    """Of two configurations the second may be wrong, also where only something of its loss is known."""
    sound = {"lower": 1, "lowest": 2, "highest": 3, "pc_upper": 4, "upper": 5}
    known = {"lower": 0, "lowest": 1, "highest": 1, "pc_upper": 1, "upper": 1}

    def in_order(second: dict[str, int]) -> bool:
        pairs = {name: numbers(known[name], second[name]) for name in known}
        row = bounds.summarise("x", bounds.Losses(**pairs, nodes=np.zeros(2, np.int64), seconds=0.0))
        return bool(row["in_order"])

    assert in_order(sound)
    assert not in_order({**sound, **broken})


def test_distances_by_loss_are_what_counting_gives() -> None:
    """Losses up to 14, some of them not known; the last row holds all from 10 on."""
    chooser = random.Random(3)
    names = ("lower", "lowest", "highest", "pc_upper", "upper")
    found = []
    for _ in range(400):
        loss = chooser.choice([0, 1, 2, 5, 9, 10, 11, 14])
        unknown = chooser.randint(0, 1)
        below, above, more = (chooser.randint(0, 2) for _ in range(3))
        values = (max(loss - below, 0), loss, loss + unknown, loss + unknown + above, loss + 3 + above + more)
        found.append(dict(zip(names, values, strict=True)))
    arrays = {name: numbers(*(one[name] for one in found)) for name in names}
    row = bounds.summarise("x", bounds.Losses(**arrays, nodes=np.zeros(400, np.int64), seconds=0.0))
    expected = []
    for shown, losses in (*((str(loss), [loss]) for loss in (0, 1, 2, 5, 9)), ("10+", [10, 11, 14])):
        here = [one for one in found if one["lowest"] == one["highest"] and one["lowest"] in losses]
        distances = {
            bound: pytest.approx(sum(abs(one[bound] - one["lowest"]) for one in here) / len(here))
            for bound in ("lower", "pc_upper", "upper")
        }
        expected.append({"loss": shown, "configurations": len(here), **distances})
    assert row["by_loss"] == expected


def test_a_search_that_was_cut_short_changes_no_number_silently(
    configurations: bounds.Configurations,
) -> None:
    full, cut = (bounds.measure(configurations, "explicit", limit) for limit in (10_000, 0))
    unknown = ~cut.known
    assert unknown.any()
    assert (cut.lowest[~unknown] == full.lowest[~unknown]).all()
    assert ((cut.lowest <= full.lowest) & (full.lowest <= cut.highest)).all()
    assert bounds.summarise("x", cut)["not_known"] == unknown.sum()


@pytest.fixture
def treebank(tmp_path: Path) -> Path:
    folder = tmp_path / "UD_Small"
    folder.mkdir()
    lines = []
    for row in small_treebank():
        tokens, tags, heads = row["tokens"], row["upos"], row["head"]
        assert isinstance(tokens, list) and isinstance(tags, list) and isinstance(heads, list)
        for number, (token, tag, head) in enumerate(zip(tokens, tags, heads, strict=True), 1):
            label = "root" if head == 0 else "dep"
            lines.append(f"{number}\t{token}\t_\t{tag}\t_\t_\t{head}\t{label}\t_\t_")
        lines.append("")
    (folder / "small-ud-train.conllu").write_text("\n".join([*lines, ""]))
    return folder


def test_the_command(treebank: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, numbers = tmp_path / "bounds.html", tmp_path / "bounds.json"
    file = str(treebank / "small-ud-train.conllu")
    arguments = ["bounds", str(treebank), file, "--transitions", "1500", "--threads", "2"]
    assert cli.main([*arguments, "--html", str(page), "--json", str(numbers)]) == 0
    printed = capsys.readouterr().out
    assert "| UD_Small |" in printed
    assert "| small-ud-train |" in printed
    assert "| Average |" in printed
    result = json.loads(numbers.read_text())
    for row in result["treebanks"]:
        assert row["transitions"] == 1500
        assert row["in_order"]
        assert row["lower"] <= row["loss"] <= row["pc_upper"] <= row["upper"]
    assert f"{result['treebanks'][0]['loss']:.5f}" in printed
    html = page.read_text()
    assert "UD_Small" in html
    assert "<svg" in html


def test_json_on_the_terminal(treebank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        cli.main(["bounds", str(treebank), "--transitions", "300", "--node-limit", "0", "--json", "-"]) == 0
    )
    result = json.loads(capsys.readouterr().out)
    assert result["node_limit"] == 0
    assert result["options"]["root"] == "explicit"


def test_wrong_calls(treebank: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bounds", str(tmp_path), "--transitions", "10"]) == 2
    assert "one training file" in capsys.readouterr().err
    assert cli.main(["bounds", str(treebank), "--transitions", "0"]) == 2
    assert cli.main(["bounds", str(treebank), "--explore", "2"]) == 2
    assert cli.main(["bounds", str(tmp_path / "missing.conllu")]) == 1
    (treebank / "more-ud-train.conllu").touch()
    assert cli.main(["bounds", str(treebank)]) == 2
    assert "more-ud-train.conllu, small-ud-train.conllu" in capsys.readouterr().err
    with pytest.raises(DataError):
        bounds.summarise("x", bounds.measure(EMPTY, "explicit"))


EMPTY = bounds.Configurations(
    *(np.zeros(size, kind) for size, kind in ((0, np.int32), (1, np.int64))),
    *(np.zeros(0, np.int32) for _ in range(4)),
    np.zeros(1, np.int64),
)

TREEBANKS = Path(os.environ.get("COVINGTON_TREEBANKS", Path(__file__).parents[3] / "shared" / "treebanks"))


@pytest.mark.skipif(not TREEBANKS.is_dir(), reason="COVINGTON_TREEBANKS names no folder of treebanks")
@pytest.mark.parametrize("treebank", sorted(path.name for path in TREEBANKS.glob("UD_*")))
def test_on_real_treebanks(treebank: str, capsys: pytest.CaptureFixture[str]) -> None:
    """lower ≤ loss ≤ pc-upper ≤ upper everywhere, and below 1 % from the loss where the paper says so."""
    path = str(TREEBANKS / treebank)
    assert cli.main(["bounds", path, "--transitions", "20000", "--json", "-"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["treebanks"]
    assert row["in_order"]
    assert row["not_known"] == 0
    assert row["relative_difference"]["lower"] < 0.01
    assert row["relative_difference"]["pc_upper"] < 0.01

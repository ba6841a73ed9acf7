"""`covington draw` and `covington trace` from files, with a small model trained in the test."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from covington.commands.cli import main
from covington.corpus.reading import read_conllu
from covington.display.tracing import replay
from covington.display.trees import trees
from covington.learning.perceptron.freezing import freeze
from covington.learning.perceptron.weights import Weights
from covington.learning.survey import survey
from covington.learning.training import prepare, train_epoch
from covington.model.options import TrainingOptions
from covington.parsing.parser import Parser
from tests.evaluation.test_evaluation import as_conllu, random_corpus


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Gold and predicted trees, and models of the monotonic and the non-monotonic system."""
    target = tmp_path_factory.mktemp("draw")
    gold, system = random_corpus(7, 40)
    (target / "gold.conllu").write_text(as_conllu(gold), encoding="utf-8")
    (target / "system.conllu").write_text(as_conllu(system), encoding="utf-8")
    for oracle in ("monotonic", "upper"):
        options = TrainingOptions(
            oracle=oracle, templates="paper", accept="all", target="best", repairs="shared"
        )
        found = survey([gold])
        weights = Weights(found.classes(options).count)
        shard = prepare([gold], options, found)
        for epoch in (1, 2, 3):
            train_epoch(weights, shard, epoch)
        freeze(weights, options, found, target / f"{oracle}.model")
    return target


def sentences(folder: Path) -> list[pa.RecordBatch]:
    (rows,) = read_conllu(folder / "gold.conllu")
    return [rows.slice(number, 1) for number in range(rows.num_rows)]


@pytest.mark.parametrize("oracle", ["monotonic", "upper"])
def test_replaying_the_parser_gives_its_parse(folder: Path, oracle: str) -> None:
    parser = Parser.load(folder / f"{oracle}.model")
    repairs = 0
    for row in sentences(folder):
        (parsed,) = trees(parser.parse(row, single_root=False))
        steps = replay(parser.trace(row), len(parsed.words))
        built = {arc.dependent: (arc.head, arc.label) for arc in steps[-1].arcs}
        assert [built.get(word, (0, None))[0] for word in range(1, len(parsed.words) + 1)] == list(
            parsed.heads
        )
        assert all(parsed.labels[word - 1] == label for word, (_, label) in built.items())
        repairs += sum(step.repair for step in steps)
    assert (repairs > 0) == (oracle == "upper")


def test_trace_on_the_terminal_as_json_and_as_a_page(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["trace", str(folder / "gold.conllu"), "--model", str(folder / "upper.model")]
    assert main([*call, "--sent-id", "s3", "--html", str(folder / "trace.html")]) == 0
    text = capsys.readouterr().out
    assert text.startswith("# s3\n") and "transitions" in text.splitlines()[-1]
    assert main([*call, "--number", "4", "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["sent_id"] == "s3" and found["summary"]["transitions"] == len(found["steps"])
    page = (folder / "trace.html").read_text(encoding="utf-8")
    assert page.count("<tr") == found["summary"]["transitions"] + bool(found["left_over"])


def test_draw_on_the_terminal_as_picture_and_as_a_page(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gold, system = str(folder / "gold.conllu"), str(folder / "system.conllu")
    assert main(["draw", system, "--sent-id", "s5"]) == 0
    assert capsys.readouterr().out.startswith("# s5\n")
    assert main(["draw", system, "--gold", gold, "--errors", "--limit", "3"]) == 0
    assert capsys.readouterr().out.count("# s") == 3
    assert main(["draw", system, "--gold", gold, "--limit", "5", "-o", str(folder / "out.html")]) == 0
    assert (folder / "out.html").read_text(encoding="utf-8").count("<svg") == 5
    assert main(["draw", system, "-o", str(folder / "out.svg")]) == 0
    assert (folder / "out.svg").read_text(encoding="utf-8").startswith("<svg")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["draw", "SYSTEM", "--sent-id", "none"], 1),
        (["draw", "SYSTEM", "--errors"], 2),
        (["draw", "SYSTEM", "-o", "out.png"], 2),
        (["draw", "SYSTEM", "--limit", "0"], 2),
        (["draw", "nowhere.conllu"], 1),
        (["trace", "SYSTEM", "--model", "MODEL", "--sent-id", "none"], 1),
        (["trace", "SYSTEM", "--model", "MODEL", "--number", "1000"], 1),
        (["trace", "SYSTEM", "--model", "MODEL", "--number", "0"], 2),
        (["trace", "SYSTEM", "--model", "SYSTEM"], 1),
    ],
)
def test_wrong_calls(
    folder: Path, arguments: list[str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    places = {"SYSTEM": folder / "system.conllu", "MODEL": folder / "upper.model"}
    assert main([str(places.get(argument, argument)) for argument in arguments]) == code
    assert capsys.readouterr().err.count("\n") == 1


def test_a_trace_ends_in_the_tree_that_the_parser_gives(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parser, judged = Parser.load(folder / "upper.model"), set()
    call = ["trace", str(folder / "gold.conllu"), "--model", str(folder / "upper.model"), "--number"]
    for number, row in enumerate(sentences(folder), 1):
        (parsed,), (gold,) = trees(parser.parse(row)), trees(row)
        assert main([*call, str(number), "--json", "-"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert (tuple(found["head"]), tuple(found["deprel"])) == (parsed.heads, parsed.labels)
        arcs = {arc["dependent"]: (arc["head"], arc["label"]) for arc in found["steps"][-1]["arcs"]}
        for one in found["left_over"]:
            arc = one["arc"]
            assert arc["dependent"] not in arcs
            arcs[arc["dependent"]] = arc["head"], arc["label"]
            is_gold = gold.heads[arc["dependent"] - 1] == arc["head"]
            assert one["verdict"] == ("gold" if is_gold else "wrong")
            judged.add(one["verdict"])
        assert [arcs[word] for word in sorted(arcs)] == list(zip(parsed.heads, parsed.labels, strict=True))
        assert main([*call, str(number), "--html", str(folder / "end.html")]) == 0
        text = capsys.readouterr().out
        assert text.count("\n end ") == len(found["left_over"])
        assert ("left over" in text) == ("The end" in (folder / "end.html").read_text(encoding="utf-8"))
    assert judged == {"gold", "wrong"}


def test_what_comes_after_the_sentence_is_not_looked_at(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (folder / "system.conllu").read_text(encoding="utf-8")
    (folder / "broken.conllu").write_text(text * 500 + "1\tno\tcolumns\n\n", encoding="utf-8")
    assert main(["draw", str(folder / "broken.conllu"), "--sent-id", "s5"]) == 0
    assert capsys.readouterr().out.startswith("# s5\n")


def test_what_there_is_nothing_to_draw_of_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gold = str(folder / "gold.conllu")
    assert main(["draw", gold, "--gold", gold, "--errors"]) == 0
    assert capsys.readouterr() == ("", "no sentence differs from gold\n")
    assert main(["draw", gold, "--sent-id", "s1", "--sent-id", "nobody"]) == 1
    assert "no sentence with id nobody to draw" in capsys.readouterr().err
    assert main(["draw", gold, "--limit", "1", "-o", str(folder / "one.svg")]) == 0
    assert (
        f"drew the first tree to {folder / 'one.svg'}; --sent-id ID draws another" in capsys.readouterr().err
    )

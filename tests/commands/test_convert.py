"""`covington convert` and `covington info`: what they print, where it goes, and their exit codes."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from covington.commands.cli import main
from covington.model import file as model_file
from tests.corpus.test_conllu import GOOD

BAD = "# sent_id = bad\n1\tonly\n\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("a.conllu").write_text(GOOD * 3)
    return tmp_path


def test_there_and_back(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("more.conllu").write_text(GOOD * 3)
    assert main(["convert", "a.conllu", "more.conllu", "./a.conllu", "-o", "b.parquet"]) == 0
    assert capsys.readouterr().err == "6 sentences, 24 words to b.parquet\n"
    assert main(["convert", "b.parquet", "-o", "c.conllu.gz", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "output": "c.conllu.gz",
        "sentences": 6,
        "words": 24,
        "rejects": 0,
        "rejects_file": None,
    }
    assert gzip.decompress(Path("c.conllu.gz").read_bytes()).decode() == GOOD * 6
    assert sorted(path.name for path in here.iterdir()) == [
        "a.conllu",
        "b.parquet",
        "c.conllu.gz",
        "more.conllu",
    ]


def test_folder_of_parquet(here: Path) -> None:
    Path("shards").mkdir()
    for name in ("2", "1"):
        Path("x.conllu").write_text(GOOD.replace("one", name))
        assert main(["convert", "x.conllu", "-o", f"shards/{name}.parquet"]) == 0
    assert main(["convert", "shards", "-o", "all.conllu"]) == 0
    assert Path("all.conllu").read_text() == GOOD.replace("one", "1") + GOOD.replace("one", "2")


def test_parsed_and_plain_together(here: Path) -> None:
    assert main(["parse", "a.conllu", "-o", "parsed.parquet"]) == 0
    for inputs in (["a.conllu", "parsed.parquet"], ["parsed.parquet", "a.conllu"]):
        assert main(["convert", *inputs, "-o", "both.parquet"]) == 0
        flags = pq.read_table("both.parquet").column("flags").to_pylist()
        assert [flag is None for flag in flags] == [name == "a.conllu" for name in inputs for _ in range(3)]
        assert main(["train", *inputs, "-o", "self.covington", "--epochs", "1", "--overwrite"]) == 0


def test_a_folder_of_files_with_different_columns(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("shards").mkdir()
    assert main(["convert", "a.conllu", "-o", "shards/1.parquet"]) == 0
    assert main(["parse", "a.conllu", "-o", "shards/2.parquet"]) == 0
    assert main(["draw", "shards"]) == 0
    assert capsys.readouterr().out


def test_a_folder_without_sentences(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("shards").mkdir()
    Path("none.conllu").write_text("")
    assert main(["convert", "none.conllu", "-o", "shards/1.parquet"]) == 0
    capsys.readouterr()
    assert main(["draw", "shards"]) == 1
    assert capsys.readouterr().err == "covington: shards: no sentence to draw\n"


def test_rejects_are_told_and_kept(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.conllu").write_text(GOOD + BAD + GOOD)
    assert main(["convert", "a.conllu", "-o", "b.conllu"]) == 0
    told = capsys.readouterr().err
    assert "a.conllu:12: sentence bad: expected 10 columns" in told
    assert "1 sentence could not be read: see b.conllu.rejects.parquet" in told
    (row,) = pq.read_table("b.conllu.rejects.parquet").to_pylist()
    assert (row["line"], row["sent_id"], row["raw"]) == (12, "bad", BAD[:-1].encode())
    assert Path("b.conllu").read_text() == GOOD * 2


def test_strict_stops_and_leaves_nothing(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.conllu").write_text(GOOD + BAD + GOOD)
    for output in ("b.conllu", "b.parquet"):
        assert main(["convert", "a.conllu", "-o", output, "--strict"]) == 1
        assert "a.conllu:12: sentence bad" in capsys.readouterr().err
    assert [path.name for path in here.iterdir()] == ["a.conllu"]


def test_what_conllu_cannot_hold_is_told_with_a_true_place(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file and line that the row came from, or the row of the table where it has none."""
    assert main(["convert", "a.conllu", "-o", "b.parquet"]) == 0
    table = pq.read_table("b.parquet")
    words = pa.array([["a"] * 4, ["a", "", "b", "c"], ["a"] * 4])
    table = table.set_column(table.schema.get_field_index("tokens"), "tokens", words)
    reason = "sentence one: cannot be written as CoNLL-U: a word is empty"
    for columns, place in ((table, "a.conllu:11"), (table.drop_columns(["source"]), "c.parquet: row 2")):
        pq.write_table(columns, "c.parquet")
        capsys.readouterr()
        assert main(["convert", "c.parquet", "-o", "c.conllu", "--strict"]) == 1
        assert f"{place}: {reason}\n" in capsys.readouterr().err
        assert main(["convert", "c.parquet", "-o", "c.conllu"]) == 0
        assert f"{place}: {reason}\n" in capsys.readouterr().err
        assert Path("c.conllu").read_text().count("\ta\t") == 8
        (reject,) = pq.read_table("c.conllu.rejects.parquet").to_pylist()
        assert json.loads(reject["raw"])["tokens"] == ["a", "", "b", "c"]


def test_nothing_but_rejects_is_an_error(here: Path) -> None:
    Path("a.conllu").write_text(BAD)
    assert main(["convert", "a.conllu", "-o", "b.conllu"]) == 1


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["absent.conllu", "-o", "b.conllu"], 1),
        (["absent*", "-o", "b.conllu"], 1),
        (["gs://store/a.conllu", "-o", "b.conllu"], 2),
        (["a.conllu", "-o", "b.txt"], 2),
        (["a.conllu", "-o", "./a.conllu"], 2),
    ],
)
def test_wrong_calls(here: Path, arguments: list[str], code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", *arguments]) == code
    assert capsys.readouterr().err.count("\n") == 1


def test_all_files_of_a_folder_are_read(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("mixed/1.conllu.gz", "mixed/below/2.parquet", "mixed/3.conllu", "mixed/_work/4.conllu"):
        assert main(["convert", "a.conllu", "-o", name]) == 0
    capsys.readouterr()
    for inputs in (["mixed"], ["mixed/*.conllu*", "mixed/below"]):
        assert main(["convert", *inputs, "-o", "b.conllu"]) == 0
        assert capsys.readouterr().err == "9 sentences, 36 words to b.conllu\n"


def test_not_parquet(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("x.parquet").write_bytes(b"PAR1" + GOOD.encode())
    assert main(["convert", "x.parquet", "-o", "b.conllu"]) == 1
    assert "cannot be read as Parquet" in capsys.readouterr().err


def test_info(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    metadata = {
        "labels": [f"label-{number}" for number in range(40)],
        "options": {"oracle": "upper", "seed": 1, "explore": True},
        "scores": {"dev_las": 85.54},
        "nothing": None,
    }
    model_file.write("m.covington", metadata, {"weights": np.zeros((10, 4), np.int16)})
    assert main(["info", "m.covington"]) == 0
    card = capsys.readouterr().out
    for expected in (
        "m.covington",
        "(40) label-0, label-1",
        "oracle",
        "upper",
        "85.54",
        "int16 10 × 4",
        "yes",
        "none",
    ):
        assert expected in card
    assert max(map(len, card.splitlines())) <= 100
    assert main(["info", "m.covington", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["labels"] == metadata["labels"]
    assert facts["checksum"] == model_file.read("m.covington").checksum


def test_nobody_else_steers_the_terminal(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model_file.write(here / "m.covington", {"labels": ["\x1b]0;x\x07"], "root_label": "\x1b[2J"}, {})
    assert main(["info", "m.covington"]) == 0
    (here / "bad.conllu").write_text(f"# sent_id = \x1b[31m\n1\tno tabs\n\n{'1' + 9 * chr(9) + '_'}\n\n")
    for command in ("convert", "parse"):
        assert main([command, "bad.conllu", "-o", f"{command}.parquet"]) == 1
    shown = capsys.readouterr()
    assert "root" in shown.out and "bad.conllu:" in shown.err
    assert "\x1b" not in shown.out + shown.err and "\x07" not in shown.out


def test_info_of_what_is_no_model(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "a.conllu"]) == 1
    assert "this is not a covington model" in capsys.readouterr().err
    assert main(["info", "absent.covington"]) == 1

"""Text in, trees out: `covington parse` with a model that reads text, and how such a model is trained."""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import covington
from covington.commands.cli import main
from covington.model import file as model_file
from covington.schemas import PARSE
from tests.support.sample import SAMPLE

TEXT = "The dog barks. It saw a cat\non the mat.\n\nA second paragraph, at last!\n"


def conllu(path: Path) -> list[str]:
    return [line for line in path.read_text().splitlines() if line and not line.startswith("#")]


def test_text_becomes_valid_sentences(text_model: str, tmp_path: Path) -> None:
    source, out = tmp_path / "book.txt", tmp_path / "out.conllu"
    source.write_text(TEXT)
    assert main(["parse", str(source), "-o", str(out), "--model", text_model]) == 0
    sentences = covington.token_lists(next(iter(covington.read_conllu(out))))
    forms = [token["form"] for sentence in sentences for token in sentence]
    assert "".join(forms) == "".join(TEXT.split())
    for sentence in sentences:
        assert sum(token["head"] == 0 for token in sentence) == 1
        assert all(token["deprel"] and token["lemma"] and token["upos"] for token in sentence)


def test_compressed_text_and_text_from_a_pipe_are_the_same(
    text_model: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    packed, plain = tmp_path / "a.txt.gz", tmp_path / "b.txt"
    packed.write_bytes(gzip.compress(TEXT.encode()))
    plain.write_text(TEXT)
    for source in (packed, plain):
        assert main(["parse", str(source), "-o", f"{source}.conllu", "--model", text_model]) == 0
    assert conllu(Path(f"{packed}.conllu")) == conllu(Path(f"{plain}.conllu"))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    assert main(["parse", "-", "-o", "-", "--model", text_model]) == 0
    words = [line for line in capfdbinary.readouterr().out.decode().splitlines() if line[:1].isdigit()]
    assert words == conllu(Path(f"{plain}.conllu"))


def test_threads_and_formats_make_no_difference(text_model: str, tmp_path: Path) -> None:
    source = tmp_path / "long.txt"
    source.write_text(TEXT * 400)
    for threads in ("1", "2"):
        out = str(tmp_path / f"{threads}.parquet")
        assert main(["parse", str(source), "-o", out, "--model", text_model, "--threads", threads]) == 0
    assert (tmp_path / "1.parquet").read_bytes() == (tmp_path / "2.parquet").read_bytes()
    assert set(PARSE.names) <= set(pq.read_schema(tmp_path / "1.parquet").names)


def test_confidence_is_a_probability(text_model: str, tmp_path: Path) -> None:
    out = tmp_path / "a.parquet"
    assert main(["parse", SAMPLE, "-o", str(out), "--model", text_model, "--confidence"]) == 0
    values = pq.read_table(out).column("confidence").combine_chunks().flatten().drop_null().to_pylist()
    assert values and all(0 < value <= 1 for value in values)


def test_what_is_no_text_is_rejected(text_model: str, tmp_path: Path) -> None:
    source, out = tmp_path / "a.txt", tmp_path / "a.conllu"
    source.write_bytes(b"The dog\0 barks.\n\nIt is here.\n\n\xff\xfe\n")
    assert main(["parse", str(source), "-o", str(out), "--model", text_model]) == 0
    rejects = pq.read_table(f"{out}.rejects.parquet")
    assert rejects.num_rows == 2
    assert conllu(out)


def test_only_what_is_no_text(text_model: str, tmp_path: Path) -> None:
    source, out = tmp_path / "a.txt", tmp_path / "a.conllu"
    source.write_bytes(b"\0\n")
    assert main(["parse", str(source), "-o", str(out), "--model", text_model]) == 1
    assert not out.exists()


def test_tags_that_are_there_are_kept(text_model: str, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    assert main(["parse", SAMPLE, "-o", str(out), "--model", text_model]) == 0
    gold, parsed = next(iter(covington.read_conllu(SAMPLE))), pq.read_table(out)
    for column in ("upos", "lemmas", "tokens"):
        assert parsed.column(column).to_pylist() == gold.column(column).to_pylist()


def test_long_sentences_come_out_without_a_tree(text_model: str, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    assert main(["parse", SAMPLE, "-o", str(out), "--model", text_model, "--max-length", "8"]) == 0
    for row in pq.read_table(out).to_pylist():
        is_long = len(row["tokens"]) > 8
        assert row["flags"] == (["too-long"] if is_long else [])
        assert all((head is None) == is_long for head in row["head"])


def test_lines_can_be_sentences(text_model: str, tmp_path: Path) -> None:
    source, out = tmp_path / "a.txt", tmp_path / "a.parquet"
    source.write_text("a dog and\na cat\n")
    assert main(["parse", str(source), "-o", str(out), "--model", text_model, "--lines", "sentence"]) == 0
    assert pq.read_table(out).num_rows == 2


def test_a_model_that_wants_tags_says_so(
    small_model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "a.txt"
    source.write_text(TEXT)
    assert main(["parse", str(source), "-o", str(tmp_path / "a.conllu"), "--model", small_model]) == 2
    assert "plain text" in capsys.readouterr().err
    assert main(["parse", str(source), "-o", str(tmp_path / "folder"), "--model", small_model]) == 2
    assert not (tmp_path / "folder").exists()


def test_beam_is_not_imported(text_model: str) -> None:
    program = (
        "import sys; from covington.commands.cli import main; main(sys.argv[1:]); "
        "sys.exit('apache_beam' in sys.modules)"
    )
    command = [sys.executable, "-c", program, "parse", "-", "-o", "-", "--model", text_model]
    subprocess.run(command, input=TEXT.encode(), check=True, capture_output=True)


def test_training_from_the_command_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "m.covington"
    assert (
        main(["train", SAMPLE, "-o", str(model), "--dev", SAMPLE, "--engine", "network", "--epochs", "1"])
        == 0
    )
    assert "dev UAS" in capfd.readouterr().err
    assert set(model_file.read(model).metadata["parts"]) == {"segmenter", "network", "lemmatiser"}


@pytest.mark.parametrize(
    "option", [["--shards", "2"], ["--templates", "paper"], ["--keep", "best"], ["--prune", "1"]]
)
def test_options_that_cannot_act_are_refused(option: list[str], tmp_path: Path) -> None:
    assert main(["train", SAMPLE, "-o", str(tmp_path / "m"), "--engine", "network", *option]) == 2


def test_a_model_with_damaged_parts_is_refused(text_model: str, tmp_path: Path) -> None:
    found = model_file.read(text_model)
    broken = tmp_path / "broken.covington"
    for name in found.metadata["parts"]:
        parts = {**found.metadata["parts"], name: {}}
        model_file.write(broken, {**found.metadata, "parts": parts}, found.arrays)
        with pytest.raises(covington.ModelError):
            covington.Parser.load(broken)
    for parts in (None, {}, {"other": {}}, {"network": 3}):
        model_file.write(broken, {**found.metadata, "parts": parts}, found.arrays)
        with pytest.raises(covington.ModelError):
            covington.Parser.load(broken)

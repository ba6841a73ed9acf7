"""Names of files: however a place is called, it is the same place, and nobody's data is written over."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest

import covington
from covington.commands.cli import main
from covington.corpus import rejects as conllu_rejects
from covington.engine.epochs import Training
from covington.engine.model import local_path
from covington.engine.streaming import ParseStream
from covington.errors import ModelError, OptionError
from covington.files.storage import list_inputs
from covington.model.options import TrainingOptions
from covington.pipelines.parse import ParseJob
from covington.pipelines.runner import Runner
from covington.pipelines.train import TrainJob
from tests.support.sample import SAMPLE


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the sample in `data`, and another name for that folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.conllu").write_bytes(Path(SAMPLE).read_bytes())
    (tmp_path / "link").symlink_to("data")
    return tmp_path


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("data", "data"),
        ("link", "data"),
        ("data/a.conllu", "link"),
        ("data", "elsewhere/../data"),
        ("data/a.conllu", "."),
        ("./data/a.conllu", "data/a.conllu"),
        ("link", "data/a.conllu"),
        ("data/*.conllu", "link/a.conllu"),
    ],
)
def test_an_output_is_never_an_input(
    source: str, output: str, folder: Path, small_model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["parse", source, "-o", output, "--overwrite", "--model", small_model]) == 2
    assert "is an input, so the output cannot go to" in capsys.readouterr().err
    assert (folder / "data" / "a.conllu").read_bytes() == Path(SAMPLE).read_bytes()


@pytest.mark.parametrize(
    "call",
    [
        "convert data -o data/b.parquet",
        "convert data/*.parquet -o link/b.parquet",
        "convert data -o new.conllu --rejects data/b.parquet",
        "parse data -o new.conllu --rejects link/b.parquet",
        "parse data/b.parquet -o new.conllu --rejects data/b.parquet",
        "train data -o data/b.parquet",
        "evaluate data data/*.conllu --json data/b.parquet",
        "evaluate data/a* data --html data/a.conllu",
        "draw data -o data/drawn.html",
        "draw data --gold link -o data/drawn.html",
        "trace data --html data/b.parquet",
        "trace data/a.conllu --model data/m.covington --json data/m.covington",
        "bounds data --json data/x-train.conllu",
        "compare data --markdown data/x-train.conllu",
        "compare data --html data/x-test.conllu",
    ],
)
def test_no_command_writes_over_what_it_reads(
    call: str, folder: Path, small_model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """By folder, by glob, by another name of the folder; whatever the option that names the output."""
    data = folder / "data"
    for name in ("x-train.conllu", "x-test.conllu", "drawn.html.conllu"):
        (data / name).write_bytes(Path(SAMPLE).read_bytes())
    assert main(["convert", str(data / "a.conllu"), "-o", str(data / "b.parquet")]) == 0
    (data / "m.covington").write_bytes(Path(small_model).read_bytes())
    (data / "drawn.html").symlink_to("drawn.html.conllu")
    before = {path.name: path.read_bytes() for path in data.iterdir()}
    capsys.readouterr()
    assert main(call.split()) == 2
    assert "is an input, so the output cannot go to" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in data.iterdir()} == before


def test_what_a_file_is_its_bytes_say(folder: Path, small_model: str) -> None:
    """A Parquet file of any name is read as one by every command; so is a link to a folder."""
    assert main(["convert", "data/a.conllu", "-o", "b.parquet"]) == 0
    Path("b.parquet").rename("odd")
    (folder / "two").mkdir()
    (folder / "two" / "one").symlink_to("../data")
    expected = [batch.num_rows for batch in covington.read_sentences("data/a.conllu")]
    assert [batch.num_rows for batch in covington.read_sentences("odd")] == expected
    assert [batch.num_rows for batch in covington.read_sentences("two")] == expected
    assert [file.name for file in list_inputs(["two"])] == ["two/one/a.conllu"]
    for command in (["convert", "odd", "-o", "c.conllu"], ["draw", "odd"], ["draw", "da*/*"]):
        assert main(command) == 0
    assert Path("c.conllu").read_bytes() == Path(SAMPLE).read_bytes()


def test_a_link_stays_a_link(folder: Path, small_model: str) -> None:
    """What is written goes to the file that the link leads to."""
    (folder / "out.conllu").symlink_to("real.conllu")
    (folder / "m.covington").symlink_to("data/real.covington")
    assert main(["parse", "data", "-o", "out.conllu", "--model", small_model]) == 0
    assert main(["train", "data", "-o", "m.covington", "--epochs", "1"]) == 0
    assert (folder / "out.conllu").is_symlink()
    assert (folder / "m.covington").is_symlink()
    assert (folder / "real.conllu").stat().st_size > 0
    assert (folder / "data" / "real.covington").stat().st_size > 0


def test_what_is_no_plain_file_is_written_to_as_it_stands(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    reader = subprocess.Popen(["cat", "pipe"], stdout=subprocess.PIPE)
    assert main(["evaluate", "data", "data", "--json", "pipe"]) == 0
    found, _ = reader.communicate()
    assert json.loads(found)["gold"] == "data"
    assert not (folder / "pipe").is_file()
    command = [sys.executable, "-m", "covington", "evaluate", "data", "data", "--json", "/dev/stdout"]
    with (folder / "printed").open("wb") as printed:
        subprocess.run(command, stdout=printed, check=True)
    assert b'"gold": "data"' in (folder / "printed").read_bytes()


def test_links_that_lead_in_circles(folder: Path) -> None:
    for name in ("one", "two"):
        (folder / "data" / name).symlink_to(".")
    (folder / "data" / "UP.CONLLU").write_bytes(Path(SAMPLE).read_bytes())
    assert [file.name for file in list_inputs(["data"])] == ["data/UP.CONLLU", "data/a.conllu"]
    assert main(["convert", "data", "link", "-o", "all.conllu"]) == 0
    assert (folder / "all.conllu").read_bytes() == 2 * Path(SAMPLE).read_bytes()


@pytest.mark.parametrize(
    "call",
    [
        ["parse", "", "-o", "out"],
        ["parse", "data", "-o", ""],
        ["convert", "", "-o", "out.conllu"],
        ["evaluate", "data", ""],
        ["draw", ""],
    ],
)
def test_an_empty_name_is_no_folder(
    call: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a variable that was not set; it used to stand for everything."""
    assert main(call) == 2
    assert capsys.readouterr().err == "covington: a file has an empty name\n"


def test_sentences_and_rejects_do_not_go_to_one_file(
    folder: Path, small_model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in (["parse", "--model", small_model], ["convert"]):
        assert main([*command, "data", "-o", "o.parquet", "--rejects", "./o.parquet"]) == 2
        assert "cannot both be written to" in capsys.readouterr().err


def test_rejects_that_are_none_are_not_removed(folder: Path, small_model: str) -> None:
    """A file that --rejects names by mistake, when there are none."""
    (folder / "notes.txt").write_text("precious")
    os.mkfifo(folder / "pipe")
    (folder / "table.rejects.parquet").symlink_to("notes.txt")
    for name in ("notes.txt", "pipe", "table.rejects.parquet"):
        for command in (["parse", "--model", small_model], ["convert"]):
            assert main([*command, "data", "-o", "o.conllu", "--rejects", name]) == 0
    assert (folder / "notes.txt").read_text() == "precious"
    assert (folder / "pipe").exists()
    assert (folder / "table.rejects.parquet").is_symlink()


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("parse data -o o.conllu --rejects link", "link is a folder"),
        ("evaluate data data --json data", "data is a folder"),
        ("evaluate data data --json r --html ./r", "cannot both be written"),
        ("parse data -o o.parquet --modle x", "did you mean --model?"),
        ("draw data --limt 3", "did you mean --limit?"),
        ("parse data -o o.conllu --confidence", "--confidence is kept in Parquet alone"),
        ("parse data -o o --format conllu --confidence", "--confidence is kept in Parquet alone"),
        ("parse data -o o.conllu --rejects -", "cannot go to standard output"),
        ("parse data -o table.parquet", "is a folder, though its name"),
    ],
)
def test_wrong_calls(call: str, told: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "table.parquet").mkdir()
    assert main(call.split()) == 2
    assert told in capsys.readouterr().err


def test_a_stream_that_is_unpacked_already_promises_nothing(folder: Path) -> None:
    (folder / "c.conllu.gz").write_bytes(gzip.compress(Path(SAMPLE).read_bytes()))
    with gzip.open(folder / "c.conllu.gz") as text:
        assert sum(batch.num_rows for batch in covington.read_conllu(text)) == 42


def test_rejects_to_a_pipe(folder: Path, small_model: str) -> None:
    """They are written there, and nobody waits for them to come back."""
    with (folder / "data" / "a.conllu").open("a") as file:
        file.write("1\tno tabs\n\n")
    os.mkfifo(folder / "pipe")
    with subprocess.Popen(["cat", "pipe"], stdout=subprocess.PIPE) as reader:
        assert main(["parse", "data", "-o", "o.conllu", "--rejects", "pipe", "--model", small_model]) == 0
        found, _ = reader.communicate()
    assert pq.read_table(io.BytesIO(found)).num_rows == 1


def test_names_that_are_no_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = os.fsdecode(b"data/caf\xe9.conllu")
    Path(name).write_bytes(Path(SAMPLE).read_bytes())
    for command in (["convert", "data", "-o", "o.conllu"], ["draw", name], ["trace", "data"]):
        assert main(command) == 1
        assert "its name is not in UTF-8" in capsys.readouterr().err


@pytest.mark.parametrize(
    "call",
    [
        "convert data -o gs://bucket/a.parquet",
        "convert gs://bucket/a.conllu -o a.parquet",
        "convert data -o a.parquet --rejects gs://bucket/r.parquet",
        "draw data -o gs://bucket/drawn.html",
        "draw data --gold gs://bucket/a.conllu",
        "trace data --html gs://bucket/a.html",
        "trace data --json gs://bucket/a.json",
        "trace data --model gs://bucket/m.covington",
        "bounds data --html gs://bucket/a.html",
        "compare data --markdown gs://bucket/a.md",
        "compare data --json=gs://bucket/a.json",
        "compare data --work gs://bucket/runs",
        "info gs://bucket/m.covington",
    ],
)
def test_commands_that_stay_on_this_machine(
    call: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(folder.rglob("*"))
    assert main(call.split()) == 2
    told = capsys.readouterr()
    assert told.out == ""
    name = next(part for part in call.replace("=", " ").split() if "://" in part)
    assert told.err == (
        f"covington: {name} is not on this machine; only parse, train and evaluate go elsewhere\n"
    )
    assert sorted(folder.rglob("*")) == before


def test_no_folder_is_called_like_a_scheme(folder: Path) -> None:
    batches = list(covington.read_conllu("data/a.conllu"))
    for write, name in (
        (covington.write_conllu, "hdfs://a.conllu"),
        (covington.write_parquet, "gs://b/a.parquet"),
    ):
        with pytest.raises(OptionError, match=f"^{name} is not on this machine"):
            write(batches, name)
    assert sorted(path.name for path in folder.iterdir()) == ["data", "link"]


def test_hidden_links_hide_nothing(folder: Path) -> None:
    (folder / "data" / "_latest").symlink_to("below")
    (folder / "data" / "below").mkdir()
    (folder / "data" / "below" / "b.conllu").write_bytes(Path(SAMPLE).read_bytes())
    assert [file.name for file in list_inputs(["data"])] == ["data/a.conllu", "data/below/b.conllu"]


def test_a_folder_called_like_the_model(folder: Path) -> None:
    for _ in range(2):
        assert main(["parse", "data", "-o", "en_ewt", "--overwrite"]) == 0


def test_a_model_without_an_ending(folder: Path) -> None:
    assert main(["train", "data", "-o", "m", "--epochs", "1"]) == 0
    for output in ("o.conllu", "o"):
        assert main(["parse", "data", "-o", output, "--model", "./m"]) == 0


def test_tables_are_no_streams(
    folder: Path, small_model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["convert", "data", "-o", "t.parquet"]) == 0
    (folder / "t.parquet.gz").write_bytes(gzip.compress((folder / "t.parquet").read_bytes()))
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO((folder / "t.parquet").read_bytes())))
    for name in ("-", "t.parquet.gz"):
        assert main(["parse", name, "-o", "o.conllu", "--model", small_model]) == 1
        assert "is Parquet, which is read neither" in capsys.readouterr().err
        assert not (folder / "o.conllu").exists()


def test_a_run_that_reads_nothing_keeps_the_earlier_output(folder: Path, small_model: str) -> None:
    (folder / "plain.dat").write_text("This is a plain text.\n")
    (folder / "o.conllu").write_text("precious")
    for command in (["parse", "--model", small_model], ["convert"]):
        assert main([*command, "plain.dat", "-o", "o.conllu"]) == 1
        assert (folder / "o.conllu").read_text() == "precious"
        rejects = pq.read_table("o.conllu.rejects.parquet").column("reason").to_pylist()
        assert rejects == [conllu_rejects.reason("columns", b"", 1, 1)]


@pytest.mark.parametrize("pattern", ["data", "da*/**/*.conllu"])
def test_a_killed_job_inside_its_input_goes_on(
    pattern: str, folder: Path, small_model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = ["parse", pattern, "-o", "data/out", "--format", "conllu", "--model", small_model]
    with monkeypatch.context() as patch:
        patch.setattr("covington.pipelines.parse.close_folder", lambda *_: sys.exit(9))
        with pytest.raises(SystemExit):
            main(call)
    assert list((folder / "data" / "out").glob("shard-*"))
    assert main(call) == 0
    assert (folder / "data" / "out" / "_summary.json").exists()


def test_an_output_inside_the_input_can_be_taken_up_again(folder: Path, small_model: str) -> None:
    """What an earlier run has written there is no input."""
    job = ParseJob(["data"], "data/parsed", small_model)
    job.run()
    first = {path.name: path.read_bytes() for path in Path("data/parsed").iterdir()}
    ParseJob(["data"], "data/parsed", small_model, overwrite=True).run()
    assert {path.name: path.read_bytes() for path in Path("data/parsed").iterdir()} == first
    with pytest.raises(OptionError, match="is an input"):
        ParseJob(["data/parsed"], "data/parsed", small_model, overwrite=True).run()


def test_what_a_corpus_was_parsed_to_is_no_part_of_it(folder: Path, small_model: str) -> None:
    before = [file.path for file in list_inputs(["data"])]
    ParseJob(["data"], "data/deep/parsed", small_model).run()
    assert [file.path for file in list_inputs(["data"])] == before
    assert main(["evaluate", "data", "data/deep/parsed"]) == 0
    ParseJob(["data"], "all/one", small_model).run()
    ParseJob(["data"], "all/two", small_model).run()
    assert len(list_inputs(["all"])) == 2 * len(list_inputs(["all/one"]))  # nothing else is there to be meant


@pytest.mark.parametrize("name", ["x.parquet", "x.conllu.gz", "x.conllu.zst"])
@pytest.mark.parametrize("content", [b"", b"PARE encrypted", b"1\tno\n"])
def test_a_name_that_promises_too_much(
    name: str, content: bytes, folder: Path, small_model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A damaged file must not pass for text with one bad sentence."""
    (folder / "data" / name).write_bytes(content)
    for command in (
        ["parse", "data", "-o", "out", "--model", small_model],
        ["parse", "data", "-o", "out.conllu", "--model", small_model],
        ["convert", "data", "-o", "out.conllu"],
        ["train", "data", "-o", "new.covington", "--epochs", "1"],
    ):
        assert main(command) == 1
        told = capsys.readouterr().err
        assert f"{name}: " in told
        assert "its name ends in" in told
        assert ("encrypted" in told) == content.startswith(b"PARE")


def test_a_model_is_not_written_over_its_treebank(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for place in ("data/a.conllu", "link/a.conllu"):
        assert main(["train", "data", "-o", place, "--epochs", "1", "--overwrite"]) == 2
        assert "is an input" in capsys.readouterr().err
    assert (folder / "data" / "a.conllu").read_bytes() == Path(SAMPLE).read_bytes()


def test_every_file_is_read_once(folder: Path) -> None:
    found = list_inputs(["data/a.conllu", "./data/a.conllu", "link", str(folder / "data"), "d*/*.conllu"])
    assert [file.name for file in found] == ["data/a.conllu"]


def test_names_with_brackets_and_stars(folder: Path) -> None:
    for name in ("data[1]", "what?", "st*r"):
        (folder / name).mkdir()
        (folder / name / "a.conllu").write_bytes(Path(SAMPLE).read_bytes())
        assert [file.name for file in list_inputs([name])] == [f"{name}/a.conllu"]


def test_rejects_are_no_input(folder: Path, small_model: str) -> None:
    with (folder / "data" / "a.conllu").open("a") as file:
        file.write("# sent_id = bad\n1\tno tabs\n\n")
    (folder / "out").mkdir()
    for output in ("out/a.conllu", "out/b.parquet"):
        assert main(["parse", "data", "-o", output, "--model", small_model]) == 0
    assert len(list((folder / "out").glob("*.rejects.parquet"))) == 2
    assert [file.name for file in list_inputs(["out"])] == ["out/a.conllu", "out/b.parquet"]
    assert main(["convert", "out", "-o", "again.parquet"]) == 0
    assert sum(batch.num_rows for batch in covington.read_parquet(folder / "again.parquet")) == 84


def test_a_plain_name_is_a_model_in_the_box(folder: Path) -> None:
    (folder / "en_ewt").mkdir()
    assert local_path("en_ewt").name == "en_ewt.covington"
    (folder / "mine").write_bytes(b"")
    with pytest.raises(ModelError, match=r"give \./mine"):
        local_path("mine")
    assert local_path("./mine") == Path("mine")


def test_standard_input_is_any_sequence(
    small_model: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(Path(SAMPLE).read_bytes())))
    work = ParseStream(("-",), str(tmp_path / "out.conllu"))
    assert work.run(covington.Parser.load(small_model)).sentences == 42


def test_sources_have_the_same_name_by_every_way(folder: Path, small_model: str) -> None:
    assert main(["convert", "data/a.conllu", "-o", "a.parquet"]) == 0
    pq.write_table(pq.read_table("a.parquet").drop_columns(["source"]), "plain.parquet")
    for output in ("one.parquet", "many"):
        assert main(["parse", "plain.parquet", "-o", output, "--model", small_model]) == 0
        assert set(pq.read_table(output).column("source").to_pylist()) == {"plain.parquet"}


@pytest.mark.parametrize("name", ["DirectRunner", "directrunner", "SwitchingDirectRunner", "a.b.FnApiRunner"])
def test_names_of_local_runners(name: str) -> None:
    assert Runner(("--runner", name)).is_local


def test_a_wrong_option_takes_nothing_away(folder: Path) -> None:
    begun = Training(("data",), "m.covington", options=TrainingOptions(epochs=2))
    begun.begin()
    before = sorted(Path(begun.folder).iterdir())
    other = Training(("data",), "m.covington", options=TrainingOptions(epochs=3), shards=2)
    with pytest.raises(OptionError, match="no_such_option"):
        TrainJob(other, Runner(("--no_such_option=1",)), overwrite=True).run()
    assert sorted(Path(begun.folder).iterdir()) == before

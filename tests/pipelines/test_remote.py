"""Everything may be on another filesystem that Beam knows: inputs, model, outputs, files between epochs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from apache_beam.io.aws.clients.s3.messages import S3ClientError
from apache_beam.io.filesystem import BeamIOError
from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import HadoopFileSystemOptions, PipelineOptions

from covington import models
from covington.commands.cli import main
from covington.corpus.parquet.tables import write_parquet
from covington.corpus.reading import read_sentences
from covington.errors import CovingtonError
from covington.files.remote import told
from covington.files.storage import list_inputs, open_raw, readable, whole_file

from . import shelf

SAMPLE = Path(models.sample())


@pytest.fixture(autouse=True)
def an_empty_shelf() -> Iterator[None]:
    shelf.things.clear()
    yield
    shelf.things.clear()
    shelf.refused.clear()


def put(source: Path, name: str) -> str:
    shelf.things[f"shelf://store/{name}"] = source.read_bytes()
    return f"shelf://store/{name}"


def rows(content: list[bytes]) -> list[dict[str, object]]:
    """The rows of Parquet files, but for where they came from."""
    tables = [pq.read_table(pa.BufferReader(data)) for data in content]
    table = pa.concat_tables(tables).sort_by([("source", "ascending"), ("position", "ascending")])
    return table.drop_columns(["source"]).to_pylist()


def on_the_shelf(prefix: str, ending: str) -> list[bytes]:
    return [
        data
        for path, data in sorted(shelf.things.items())
        if path.startswith(prefix) and path.endswith(ending)
    ]


def test_parse_to_shards(corpus: Path, small_model: str, tmp_path: Path) -> None:
    for file in corpus.iterdir():
        put(file, f"corpus/{file.name}")
    model = put(Path(small_model), "small.covington")
    assert main(["parse", "shelf://store/corpus", "-o", "shelf://store/out", "--model", model]) == 0
    assert main(["parse", str(corpus), "-o", str(tmp_path / "out"), "--model", small_model]) == 0
    here = [path.read_bytes() for path in sorted((tmp_path / "out").glob("*.parquet"))]
    assert rows(on_the_shelf("shelf://store/out/shard-", ".parquet")) == rows(here)
    assert on_the_shelf("shelf://store/out/_rejects/", ".parquet")
    assert (
        not on_the_shelf("shelf://store/out/_work", "") and "shelf://store/out/_summary.json" in shelf.things
    )


@pytest.mark.parametrize("format", ["conllu", "parquet"])
def test_parse_to_one_file(format: str, corpus: Path, small_model: str, tmp_path: Path) -> None:
    if format == "parquet":
        table = tmp_path / "c.parquet"
        write_parquet(read_sentences(SAMPLE), table)
    else:
        table = corpus / "c.conllu"
    source = put(table, f"in/c.{format}")
    assert main(["parse", source, "-o", "shelf://store/out/c.parquet", "--model", small_model]) == 0
    assert main(["parse", str(table), "-o", str(tmp_path / "here.parquet"), "--model", small_model]) == 0
    assert rows([shelf.things["shelf://store/out/c.parquet"]]) == rows(
        [(tmp_path / "here.parquet").read_bytes()]
    )
    assert ("shelf://store/out/c.parquet.rejects.parquet" in shelf.things) == (format == "conllu")


def test_train_and_evaluate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sample = put(SAMPLE, "sample.conllu")
    options = ["--epochs", "2", "--shards", "2"]
    assert main(["train", sample, "-o", "shelf://store/made.covington", "--dev", sample, *options]) == 0
    here = tmp_path / "made.covington"
    assert main(["train", str(SAMPLE), "-o", str(here), "--dev", str(SAMPLE), *options]) == 0
    assert shelf.things["shelf://store/made.covington"] == here.read_bytes()
    assert not on_the_shelf("shelf://store/made.covington.training", "")
    parse = ["parse", sample, "-o", "shelf://store/parsed", "--model", "shelf://store/made.covington"]
    assert main(parse) == 0
    capsys.readouterr()
    assert main(["evaluate", sample, "shelf://store/parsed"]) == 0
    assert "LAS" in capsys.readouterr().out


def test_a_closed_pipe_is_not_the_fault_of_a_file() -> None:
    with pytest.raises(BrokenPipeError), whole_file("shelf://store/rejects"):
        raise BrokenPipeError(32, "Broken pipe")


class Locked(shelf.Shelf):
    """Opens to those who name a host, as HDFS does."""

    def __init__(self, pipeline_options: PipelineOptions | None) -> None:
        super().__init__(pipeline_options)
        if pipeline_options is None or pipeline_options.view_as(HadoopFileSystemOptions).hdfs_host != "h":
            raise ValueError("hdfs_host is not set")

    @classmethod
    def scheme(cls) -> str:
        return "locked"


@pytest.mark.parametrize("output", ["locked://store/out", "locked://store/out.parquet"])
def test_a_filesystem_gets_its_options(
    output: str, monkeypatch: pytest.MonkeyPatch, small_model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also for what is read before there is a pipeline, and where there will be none."""
    shelf.things["locked://store/in.conllu"] = SAMPLE.read_bytes()
    command = ["parse", "locked://store/in.conllu", "-o", output, "--model", small_model]
    for host, code in ((["--hdfs_host", "h"], 0), (["--hdfs_host=h"], 0), ([], 1)):
        monkeypatch.setattr(FileSystems, "_pipeline_options", None)
        assert main([*command, "--overwrite", *host]) == code
    assert capsys.readouterr().err.endswith("covington: locked://store/in.conllu: hdfs_host is not set\n")
    sizes = [len(data) for path, data in shelf.things.items() if path.startswith(output)]
    assert sizes and all(sizes)


def test_an_output_is_not_an_input(capsys: pytest.CaptureFixture[str]) -> None:
    source = put(SAMPLE, "in/sample.conllu")
    for output in ("shelf://store/in/sample.conllu", "shelf://store/in"):
        assert main(["parse", source, "-o", output, "--overwrite"]) == 2
        assert "is an input" in capsys.readouterr().err
    assert shelf.things == {source: SAMPLE.read_bytes()}


def test_a_file_is_replaced_where_names_cannot_be_taken_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    shelf.things["shelf://store/x/file"] = b"old"
    monkeypatch.setattr(shelf, "overwrites", False)
    with whole_file("shelf://store/x/file") as file:
        file.write(b"new")
    assert shelf.things == {"shelf://store/x/file": b"new"}


def test_an_old_file_stays_until_there_is_a_new_one() -> None:
    shelf.things["shelf://store/x/file"] = b"old"
    shelf.refused["rename"] = BeamIOError("Rename failed", {("a", "b"): OSError("503: cannot rename")})
    with pytest.raises(CovingtonError, match="503"), whole_file("shelf://store/x/file") as file:
        file.write(b"new")
    assert shelf.things == {"shelf://store/x/file": b"old"}


@pytest.mark.parametrize("closing", [{}, {"close": OSError(28, "No space left on device")}])
def test_what_fails_leaves_nothing_behind(closing: dict[str, Exception]) -> None:
    """And of two errors the first is told."""
    shelf.refused.update(closing)
    with pytest.raises(RuntimeError), whole_file("shelf://store/x/file") as file:
        file.write(b"ne")
        raise RuntimeError
    assert not shelf.things


DENIED = S3ClientError("Access Denied", 403)  # no OSError


@pytest.mark.parametrize("call", ["create", "write", "close", "rename", "exists", "open", "read"])
def test_a_refusal_is_one_sentence(call: str, small_model: str, capsys: pytest.CaptureFixture[str]) -> None:
    source = put(SAMPLE, "sample.conllu")
    shelf.refused[call] = DENIED
    assert main(["parse", source, "-o", "shelf://store/out.conllu", "--model", small_model]) == 1
    about = source if call in ("exists", "open", "read") else "shelf://store/out.conllu"
    assert capsys.readouterr().err == f"covington: {about}: Access Denied\n"
    assert list(shelf.things) == [source]


@pytest.mark.slow
@pytest.mark.parametrize("call", ["create", "write", "close", "rename"])
def test_a_refusal_of_a_worker_is_one_sentence(
    call: str, small_model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("covington.engine.work.check_job", lambda *_: shelf.refused.update({call: DENIED}))
    command = ["parse", put(SAMPLE, "sample.conllu"), "-o", "shelf://store/out", "--model", small_model]
    assert main(command) == 1
    about = "shelf://store/out/shard-00000-of-00001.parquet"
    assert capsys.readouterr().err == f"covington: {about}: Access Denied\n"


class ForbiddenError(Exception):
    """As Google's are."""

    message = "me does not have storage.objects.create access.\nmore of it"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (DENIED, "Access Denied"),
        (ForbiddenError(403), "me does not have storage.objects.create access."),
        (OSError(28, "No space left on device"), "No space left on device"),
        (BeamIOError("x", {"a": BeamIOError("y", {"b": ValueError("there is no b")})}), "there is no b"),
        (BeamIOError("libhdfs error", ForbiddenError()), "me does not have storage.objects.create access."),
        (BeamIOError("Path already exists: x"), "Path already exists: x"),
        (ConnectionError(), "ConnectionError"),
    ],
)
def test_what_filesystems_raise(error: Exception, reason: str) -> None:
    with pytest.raises(CovingtonError) as caught, told("shelf://store/x"):
        raise error
    assert str(caught.value) == f"shelf://store/x: {reason}"


def test_a_refusal_while_a_table_is_read(tmp_path: Path) -> None:
    """Through the library that reads it."""
    write_parquet(read_sentences(SAMPLE), tmp_path / "t.parquet")
    (file,) = list_inputs([put(tmp_path / "t.parquet", "t.parquet")])
    with open_raw(file.path) as raw:
        assert pq.read_table(raw).num_rows == 42
    shelf.refused["read"] = DENIED
    with open_raw(file.path) as raw, pytest.raises(CovingtonError, match=f"^{file.path}: Access Denied$"):
        pq.read_table(raw)


@pytest.mark.parametrize("folder", ["store/in", "store"])
def test_a_slash_at_the_end_changes_nothing(folder: str) -> None:
    names = [
        "a.conllu",
        "sub/b.parquet",
        "README.md",
        "_hidden.conllu",
        "_old/c.conllu",
        "a.conllu.rejects.parquet",
    ]
    for name in names:
        shelf.things[f"shelf://{folder}/{name}"] = b""
    for pattern in (f"shelf://{folder}", f"shelf://{folder}/", f"shelf://{folder}//"):
        found = [file.name.removeprefix(f"shelf://{folder}/") for file in list_inputs([pattern])]
        assert found == ["a.conllu", "sub/b.parquet"]
    assert [file.name for file in list_inputs([f"shelf://{folder}/*/"])] == [
        f"shelf://{folder}/README.md",
        f"shelf://{folder}/a.conllu",
    ]


def test_a_job_with_a_slash_at_its_end(small_model: str) -> None:
    source = put(SAMPLE, "in/sample.conllu")
    command = [
        "parse",
        "shelf://store/",
        "-o",
        "shelf://store/in/out/",
        "--model",
        small_model,
        "--overwrite",
    ]
    for _ in range(2):
        assert main(command) == 0
        names = [path.removeprefix("shelf://store/in/out/") for path in shelf.things if path != source]
        assert sorted(names) == ["_job.json", "_summary.json", "shard-00000-of-00001.parquet"]


def test_what_a_corpus_was_parsed_to_is_no_part_of_it(small_model: str) -> None:
    source = put(SAMPLE, "in/sample.conllu")
    assert main(["parse", source, "-o", "shelf://store/in/deep/out", "--model", small_model]) == 0
    assert [file.path for file in list_inputs(["shelf://store/in"])] == [source]
    assert [file.path for file in list_inputs(["shelf://store/in/deep"])] == [
        "shelf://store/in/deep/out/shard-00000-of-00001.parquet"
    ]


def test_scores_go_where_they_are_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    gold = put(SAMPLE, "gold/a.conllu")
    json_, page = "shelf://store/scores.json", "shelf://store/page.html"
    assert main(["evaluate", str(SAMPLE), "shelf://store/gold", "--json", json_, "--html", page]) == 0
    assert json.loads(shelf.things[json_])["systems"][0]["las"] == 100.0
    assert shelf.things[page].startswith(b"<!DOCTYPE html>")
    capsys.readouterr()
    for option in ("--json", "--html"):
        assert main(["evaluate", str(SAMPLE), "shelf://store/gold", option, gold]) == 2
        assert "is an input" in capsys.readouterr().err
    assert shelf.things[gold] == SAMPLE.read_bytes()


def test_errors_of_our_own_are_not_taken_for_refusals() -> None:
    put(SAMPLE, "sample.conllu")
    for block in (whole_file("shelf://store/x"), readable("shelf://store/sample.conllu")):
        with pytest.raises(ValueError, match=r"^ours$") as caught, block:
            raise ValueError("ours")
        assert caught.type is ValueError

"""Everything may be on a filesystem that has folders, as hdfs:// has, and object stores have not."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from covington import models
from covington.commands.cli import main
from covington.errors import CovingtonError, DataError, OptionError
from covington.files import remote, storage
from covington.files.storage import list_inputs, whole_file

from . import cabinet

SAMPLE = Path(models.sample())


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cabinet, and a working folder that must stay empty unless a test puts something there."""
    folder = tmp_path / "cabinet"
    folder.mkdir()
    monkeypatch.setattr(cabinet, "root", folder)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return folder


def put(name: str, content: bytes = SAMPLE.read_bytes()) -> str:
    path = cabinet.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return f"cabinet://{name}"


def put_all(corpus: Path) -> str:
    """A corpus of which one file is in a folder below."""
    for file in corpus.iterdir():
        put(
            f"corpus/sub/{file.name}" if file.name.startswith("c") else f"corpus/{file.name}",
            file.read_bytes(),
        )
    return "cabinet://corpus"


def when_written(folder: str) -> dict[Path, int]:
    """The shards of an output and their rejects."""
    return {path: path.stat().st_mtime_ns for path in (cabinet.root / folder).rglob("shard-*")}


def names(pattern: str) -> list[str]:
    return [file.name.removeprefix("cabinet://") for file in list_inputs([pattern])]


def test_parse_to_shards(corpus: Path, small_model: str, tmp_path: Path) -> None:
    source = put_all(corpus)
    model = put("models/small.covington", Path(small_model).read_bytes())
    options = ["--format", "conllu", "--model"]
    assert main(["parse", source, "-o", "cabinet://new/out", *options, model]) == 0
    assert main(["parse", str(corpus), "-o", str(tmp_path / "out"), *options, small_model]) == 0
    shards = sorted(path.name for path in (tmp_path / "out").glob("shard-*"))
    rejects = [f"_rejects/{path.name}" for path in (tmp_path / "out" / "_rejects").iterdir()]
    assert cabinet.found("new/out") == sorted([*shards, "_job.json", "_rejects/", *rejects, "_summary.json"])
    for name in shards:
        assert (cabinet.root / "new/out" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("corpus", ["a.conllu", "empty.conllu", "sub/b.conllu", "sub/deep/c.conllu.gz"]),
        ("corpus/", ["a.conllu", "empty.conllu", "sub/b.conllu", "sub/deep/c.conllu.gz"]),
        ("corpus/*.conllu", ["a.conllu", "empty.conllu"]),
        ("corpus/*/*.conllu", ["sub/b.conllu"]),
        ("corpus/s*/deep/[c-d]*", ["sub/deep/c.conllu.gz"]),
        ("corpus/**", ["README.md", "a.conllu", "empty.conllu", "sub/b.conllu", "sub/deep/c.conllu.gz"]),
        ("corpus/**/c.*", ["sub/deep/c.conllu.gz"]),
        ("corpus/_old/*", ["_old/o.conllu"]),
        ("corpus/empty.conllu", ["empty.conllu"]),
    ],
)
def test_which_files_are_meant(pattern: str, found: list[str]) -> None:
    for name in ("a.conllu", "README.md", "sub/b.conllu", "sub/deep/c.conllu.gz", "_old/o.conllu"):
        put(f"corpus/{name}")
    put("corpus/empty.conllu", b"")
    (cabinet.root / "corpus" / "folder.conllu").mkdir()
    assert names(f"cabinet://{pattern}") == [f"corpus/{name}" for name in found]
    put("x.parquet")
    assert names("cabinet://*") == ["x.parquet"]


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("nothing", "no such file or folder"),
        ("empty", "no such file or folder"),
        ("none/*.conllu", "no file matches"),
        ("none/*/x.conllu", "no file matches"),
        ("notes", "no CoNLL-U or Parquet file in this folder"),
    ],
)
def test_what_is_not_there(pattern: str, reason: str) -> None:
    (cabinet.root / "empty").mkdir()
    put("notes/README.md")
    with pytest.raises(DataError, match=reason):
        list_inputs([f"cabinet://{pattern}"])


def test_what_cannot_be_listed_is_not_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    put("corpus/a.conllu")

    def refuse(*_: object) -> None:
        raise cabinet.CabinetError("Permission denied: user=me, access=READ_EXECUTE")

    monkeypatch.setattr(cabinet.Cabinet, "_list", refuse)
    with pytest.raises(CovingtonError, match=r"^cabinet://corpus: Permission denied: user=me"):
        list_inputs(["cabinet://corpus"])


@pytest.mark.slow
def test_a_killed_job_goes_on(corpus: Path, small_model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    call = ["parse", put_all(corpus), "-o", "cabinet://out", "--model", small_model]
    with monkeypatch.context() as patch:
        patch.setattr("covington.pipelines.parse.close_folder", lambda *_: sys.exit(9))
        with pytest.raises(SystemExit):
            main(call)
    before = when_written("out")
    assert len(before) > 3
    assert main(call) == 0
    assert when_written("out") == before
    assert "_work/" not in cabinet.found("out")


@pytest.mark.slow
def test_what_was_there_is_replaced(
    corpus: Path, small_model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    source = put_all(corpus)
    assert main(["parse", source, "-o", "cabinet://out", "--model", small_model]) == 0
    assert any(name.startswith("_rejects/shard-") for name in cabinet.found("out"))
    put("out/notes.txt")
    call = ["parse", put("one.conllu"), "-o", "cabinet://out", "--model", small_model]
    assert main(call) == 2
    assert "cabinet://out holds the results of a job with other inputs" in capsys.readouterr().err
    assert main([*call, "--overwrite"]) == 0
    assert cabinet.found("out") == [
        "_job.json",
        "_rejects/",
        "_summary.json",
        "notes.txt",
        "shard-00000-of-00001.parquet",
    ]


@pytest.mark.parametrize("output", ["p4.conllu", "new/deep/p4.conllu"])
def test_parse_to_one_file(output: str, corpus: Path, small_model: str, tmp_path: Path) -> None:
    source = put("c.conllu", (corpus / "c.conllu").read_bytes())
    expected = tmp_path / "expected.conllu"
    assert main(["parse", str(corpus / "c.conllu"), "-o", str(expected), "--model", small_model]) == 0
    for _ in range(2):  # the second time over the first
        assert main(["parse", source, "-o", f"cabinet://{output}", "--model", small_model]) == 0
        assert (cabinet.root / output).read_bytes() == expected.read_bytes()
        files = [name for name in cabinet.found() if not name.endswith("/")]
        assert files == sorted(["c.conllu", output, f"{output}.rejects.parquet"])
    assert not list(Path().iterdir())


@pytest.mark.slow
def test_train_and_evaluate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sample = put("sample.conllu")
    options = ["--epochs", "2", "--shards", "2"]
    assert main(["train", sample, "-o", "cabinet://m/made.covington", "--dev", sample, *options]) == 0
    local = tmp_path / "made.covington"
    assert main(["train", str(SAMPLE), "-o", str(local), "--dev", str(SAMPLE), *options]) == 0
    assert (cabinet.root / "m" / "made.covington").read_bytes() == local.read_bytes()
    assert cabinet.found("m") == ["made.covington"]
    model = ["--model", "cabinet://m/made.covington"]
    assert main(["parse", sample, "-o", "cabinet://parsed", *model]) == 0
    put("gold/below/sample.conllu")
    capsys.readouterr()
    files = ["--json", "cabinet://scores/scores.json", "--temp_location", "cabinet://"]
    assert main(["evaluate", "cabinet://gold/", "cabinet://parsed", *files]) == 0
    assert "LAS" in capsys.readouterr().out
    scores = json.loads((cabinet.root / "scores" / "scores.json").read_text())
    assert scores["gold"] == "cabinet://gold/"
    assert not [name for name in cabinet.found() if name.startswith("covington-evaluate-")]
    assert not list(Path().iterdir())


def test_a_training_keeps_what_others_have_in_its_folder() -> None:
    sample = put("sample.conllu")
    put("m.covington.training/theirs/notes.txt")
    assert main(["train", sample, "-o", "cabinet://m.covington", "--epochs", "1"]) == 2
    assert cabinet.found() == [
        "m.covington.training/",
        "m.covington.training/theirs/",
        "m.covington.training/theirs/notes.txt",
        "sample.conllu",
    ]


@pytest.mark.parametrize("command", [["parse"], ["train", "--epochs", "1"]])
def test_a_folder_is_no_file_to_write(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A file that is renamed to a folder comes to lie in it."""
    sample = put("sample.conllu")
    put("a.parquet/part-0.parquet", b"somebody's")
    assert main([*command, sample, "-o", "cabinet://a.parquet"]) == 2
    assert "cabinet://a.parquet is a folder" in capsys.readouterr().err
    with pytest.raises(OptionError, match="is a folder"), whole_file("cabinet://a.parquet"):
        pass
    assert cabinet.found() == ["a.parquet/", "a.parquet/part-0.parquet", "sample.conllu"]


def test_a_file_is_no_folder() -> None:
    with pytest.raises(CovingtonError, match="cabinet://sample is a file, not a folder"):
        storage.files_in(put("sample"))


def test_what_cannot_be_renamed_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    rename = cabinet.Cabinet._rename

    def refuse(self: cabinet.Cabinet, source: str, target: str) -> None:
        if cabinet.place(source).read_bytes() == b"new":
            raise cabinet.CabinetError(f"Unable to rename {source}")
        rename(self, source, target)

    monkeypatch.setattr(cabinet.Cabinet, "_rename", refuse)
    for there in ([], ["file"]):
        with (
            pytest.raises(CovingtonError, match=r"^cabinet://x/file: Unable to rename"),
            whole_file("cabinet://x/file", "cabinet://x/work") as file,
        ):
            file.write(b"new")
        assert cabinet.found("x") == [*there, "work/"]
        put("x/file", b"old")
    assert (cabinet.root / "x" / "file").read_bytes() == b"old"


def test_a_folder_that_somebody_else_makes_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    make = cabinet.Cabinet.mkdirs

    def make_twice(self: cabinet.Cabinet, path: str) -> None:
        make(self, path)
        make(self, path)

    monkeypatch.setattr(cabinet.Cabinet, "mkdirs", make_twice)
    with whole_file("cabinet://x/file") as file:
        file.write(b"new")
    assert cabinet.found() == ["x/", "x/file"]


def test_folders_are_removed() -> None:
    put("x/a/b")
    storage.remove_empty_folder("cabinet://x")
    assert cabinet.found() == ["x/", "x/a/", "x/a/b"]
    storage.remove_folder("cabinet://x/a")
    storage.remove_folder("cabinet://x/a")
    storage.remove_empty_folder("cabinet://x")
    assert cabinet.found() == []
    assert remote.below("cabinet://x") == []

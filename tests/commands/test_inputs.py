"""Files of a folder that cannot be read are errors, and those that are no input are counted on standard error."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from covington import models
from covington.commands.cli import main
from covington.errors import DataError
from covington.files.listing import local_files, passed_over


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the sample in `data`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.conllu").write_bytes(models.sample().read_bytes())
    return tmp_path / "data"


def dangling(path: Path) -> None:
    path.symlink_to("../.git/annex/objects/MD5E-s7")


def loop(path: Path) -> None:
    path.symlink_to(path.name)


def pipe(path: Path) -> None:
    os.mkfifo(path)


def listening(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(os.path.relpath(path))


BROKEN: dict[Callable[[Path], None], str] = {
    dangling: "is a link to ../.git/annex/objects/MD5E-s7, which is not there: fetch what it stands for",
    loop: "is a link that leads back to itself",
    pipe: "is a pipe, a socket or a device, not a plain file",
    listening: "is a pipe, a socket or a device, not a plain file",
}
CALLS = {
    "parse": "parse {} -o out",
    "parse to one file": "parse {} -o out.conllu",
    "train": "train {} -o out.covington",
    "dev": "train data/a.conllu --dev {} -o out.covington",
    "evaluate": "evaluate {} data/a.conllu",
    "convert": "convert {} -o out.parquet",
    "draw": "draw {}",
}


@pytest.mark.parametrize("make", BROKEN, ids=lambda make: make.__name__)
@pytest.mark.parametrize("pattern", ["data", "data/*", "data/**/*.conllu"])
def test_what_cannot_be_read_is_an_error(make: Callable[[Path], None], pattern: str, folder: Path) -> None:
    assert local_files(pattern) == ["data/a.conllu"]
    (folder / "below").mkdir()
    place = "data/m.conllu" if pattern == "data/*" else "data/below/m.conllu"
    make(Path(place))
    with pytest.raises(DataError) as raised:
        local_files(pattern)
    assert str(raised.value).startswith(f"{place}: {BROKEN[make]}")


@pytest.mark.parametrize("call", CALLS.values(), ids=[*CALLS])
def test_every_command_says_so_before_its_work(
    call: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dangling(folder / "m.conllu.gz")
    assert main(call.format("data").split()) == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "data/m.conllu.gz: is a link to ../.git" in err
    assert [path.name for path in Path().iterdir()] == ["data"]


def test_permissions(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked of the system, which lets root read all."""
    monkeypatch.setattr(os, "access", lambda path, mode: mode == os.R_OK and "b" not in Path(path).name)
    assert local_files("data") == ["data/a.conllu"]
    (folder / "b.conllu").touch()
    with pytest.raises(DataError, match="may not be read"):
        local_files("data")


def test_a_link_that_leads_nowhere_is_told_from_a_name_that_is_not_there(folder: Path) -> None:
    dangling(folder / "m")
    with pytest.raises(DataError, match="data/m: is a link to"):
        local_files("data/m")
    with pytest.raises(DataError, match="data/n: no such file or folder"):
        local_files("data/n")


def test_what_a_folder_has_besides_is_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "parsed").mkdir()
    for name in (
        *("README.md", "b.TXT", "c.txt", "below.txt", "LICENSE", "a.conllu.zip"),
        *("parsed/_summary.json", "parsed/log.txt", "_SUCCESS", ".hidden.txt", "x.rejects.parquet"),
    ):
        (folder / name).touch()
    dangling(folder / "stats.xml")
    assert passed_over("data") == {
        ".txt": 3,
        ".md": 1,
        ".zip": 1,
        "linked to nothing": 1,
        "without an ending": 1,
    }
    assert main(["draw", "data", "--limit", "1"]) == 0
    told = "3 .txt, 1 .md, 1 .zip, 1 linked to nothing, 1 without an ending"
    expected = f"covington: data: passed over 7 files, not CoNLL-U or Parquet by name: {told}\n"
    assert capsys.readouterr().err.startswith(expected)
    for file in folder.glob("*.md"):
        file.with_suffix(".tar").touch()
    assert main(["draw", "data/a.conllu", "--limit", "1"]) == 0
    assert "passed over" not in capsys.readouterr().err
    assert main(["draw", "data", "--limit", "1"]) == 0
    assert "1 .tar, 1 .zip, 1 linked to nothing, and others\n" in capsys.readouterr().err

"""Comparisons on treebanks made in the test: planning, resuming, significance marks, tables."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from covington import comparison
from covington.cli import main
from covington.comparison import System, plan, systems
from covington.comparison_results import mark
from covington.errors import OptionError
from covington.training import TrainingOptions
from covington.treebanks import find_treebanks
from tests.browser import measure, picture
from tests.test_evaluation import as_conllu, random_corpus


def treebank(folder: Path, name: str, seed: int) -> Path:
    """A treebank of random trees, enough for a few updates."""
    target = folder / name
    target.mkdir(parents=True)
    for part, offset in (("train", 0), ("dev", 1), ("test", 2)):
        gold, _ = random_corpus(seed + offset, 30)
        (target / f"xx-ud-{part}.conllu").write_text(as_conllu(gold), encoding="utf-8")
    return target


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison of two systems on two treebanks, made once for all tests."""
    folder = tmp_path_factory.mktemp("comparison")
    treebank(folder / "banks", "UD_One", 10)
    treebank(folder / "banks", "UD_<b>Two", 20)
    assert main(call(folder)) == 0
    return folder


def call(folder: Path, *more: str) -> list[str]:
    arguments = ["compare", str(folder / "banks"), "--seeds", "2", "--jobs", "2", "--trials", "200"]
    arguments += ["--system", "monotonic", "--system", "eager=oracle:upper,accept:all,target:best"]
    arguments += ["--set", "epochs=2", "--work", str(folder / "runs")]
    outputs = ("markdown", "md"), ("json", "json"), ("html", "html")
    arguments += [text for name, end in outputs for text in (f"--{name}", str(folder / f"out.{end}"))]
    return [*arguments, *more]


def test_the_tables_hold_every_treebank_and_system(finished: Path) -> None:
    found = json.loads((finished / "out.json").read_text(encoding="utf-8"))
    assert [table["treebank"] for table in found["treebanks"]] == ["UD_<b>Two", "UD_One"]
    assert found["baseline"] == "monotonic" and found["seeds"] == 2
    for table in found["treebanks"]:
        for row in table["rows"]:
            assert [run["seed"] for run in row["runs"]] == [1, 2]
            assert row["uas"] == pytest.approx(sum(run["uas"] for run in row["runs"]) / 2)
            assert len(row["curve"]) == 2
            assert set(row["versus"]) == {"monotonic", "eager"} - {row["system"]}
    monotonic, eager = found["treebanks"][1]["rows"]
    assert monotonic["analysis"]["non_monotonic"] == 0.0
    assert eager["analysis"]["non_monotonic"] > 0
    assert monotonic["versus"]["eager"]["uas"] == pytest.approx(eager["uas"] * -1 + monotonic["uas"])


def test_markdown(finished: Path) -> None:
    text = (finished / "out.md").read_text(encoding="utf-8")
    tables = [part for part in text.split("\n\n") if part.startswith("|")]
    assert len(tables) == 4
    for table in tables:
        assert len({line.count("|") for line in table.splitlines()}) == 1
    assert tables[0].splitlines()[2].startswith("| UD_<b>Two | ")
    assert "covington compare" in text and "average" in text


def test_markup_in_names_stays_text(finished: Path) -> None:
    page = (finished / "out.html").read_text(encoding="utf-8")
    assert "UD_&lt;b&gt;Two" in page and "UD_<b>Two" not in page


def test_resuming_makes_only_what_is_missing(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = sorted((finished / "runs").glob("*.json"))
    assert len(files) == 8
    before = json.loads(files[3].read_text(encoding="utf-8"))
    files[3].unlink()
    assert main(call(finished)) == 0
    told = capsys.readouterr().err
    assert told.count("(known)") == 7 and "[8/8]" in told
    after = json.loads(files[3].read_text(encoding="utf-8"))
    assert (after["model"], after["test"]["counts"]) == (before["model"], before["test"]["counts"])
    assert not list((finished / "runs").glob("*.model"))


def test_a_damaged_run_is_an_error_and_not_a_number(
    finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = sorted((finished / "runs").glob("*.json"))[0]
    sound = file.read_bytes()
    file.write_bytes(sound[:100])
    assert main(call(finished)) == 1
    assert "delete it" in capsys.readouterr().err
    file.write_bytes(sound)


def test_the_page_in_a_browser(finished: Path, tmp_path: Path) -> None:
    script = (
        "return {plots:document.querySelectorAll('.plot>svg').length,bold:document.querySelectorAll('td b').length,"
        "fits:document.documentElement.scrollWidth<=innerWidth}"
    )
    found = measure(finished / "out.html", script, tmp_path, (500, 900))
    assert found == {"plots": 4, "bold": 0, "fits": True}
    assert picture(finished / "out.html", tmp_path).stat().st_size > 10_000


def test_killed_workers_do_not_train_on(tmp_path: Path) -> None:
    """SIGKILL to the command: its processes end too, and nothing half-written counts."""
    treebank(tmp_path / "banks", "UD_One", 10)
    arguments = [*call(tmp_path), "--set", "epochs=100000", "--no-curve"]
    command = subprocess.Popen([sys.executable, "-m", "covington", *arguments], stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 120
        while len(workers := children(command.pid)) < 2 and time.monotonic() < deadline:
            time.sleep(0.2)
        assert len(workers) >= 2
        time.sleep(2)
    finally:
        command.kill()
        command.wait()
    deadline = time.monotonic() + 120
    while any(Path(f"/proc/{worker}").exists() for worker in workers) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not any(Path(f"/proc/{worker}").exists() for worker in workers)
    assert not list((tmp_path / "runs").glob("*.json"))


def children(parent: int) -> list[int]:
    """The processes that a process started, where the system tells."""
    if not Path("/proc/self/stat").exists():
        pytest.skip("no /proc to look for processes in")
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            found.append(int(stat.parent.name))
    return found


def test_keys_depend_on_options_data_and_seed(tmp_path: Path) -> None:
    folder = treebank(tmp_path, "UD_One", 1)
    banks = find_treebanks([str(folder)])
    chosen = systems(["upper", "lower"], ["epochs=2"])
    keys = {run.key for run in plan(banks, chosen, 2)}
    assert len(keys) == 4
    assert {run.key for run in plan(banks, systems(["other=oracle:upper"], ["epochs=2"]), 2)} < keys
    assert not keys & {run.key for run in plan(banks, systems(["upper"], ["epochs=3"]), 2)}
    with (folder / "xx-ud-test.conllu").open("a", encoding="utf-8") as file:
        file.write("\n")
    assert not keys & {run.key for run in plan(banks, chosen, 2)}


def test_systems_are_read_from_the_command_line() -> None:
    assert [system.name for system in systems([], [])] == [
        "static",
        "monotonic",
        "lower",
        "pc-upper",
        "upper",
    ]
    (system,) = systems(["mine=oracle:lower,explore:0.5"], ["epochs=4"])
    assert system.options == TrainingOptions(oracle="lower", explore=0.5, epochs=4, templates="paper")
    assert system.kind == "non-monotonic"


@pytest.mark.parametrize(
    ("named", "settings", "message"),
    [
        (["x=oracle:none"], [], "oracle"),
        (["x=nothing:1"], [], "no training option"),
        (["upper"], ["epochs=many"], "cannot be 'many'"),
        (["upper"], ["epochs"], "NAME=VALUE"),
        (["upper", "upper"], [], "same name"),
    ],
)
def test_wrong_systems_are_refused(named: list[str], settings: list[str], message: str) -> None:
    with pytest.raises(OptionError, match=re.escape(message)):
        systems(named, settings)


def test_wrong_calls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(tmp_path)]) == 2
    assert main(["compare", str(tmp_path / "none")]) == 2
    folder = treebank(tmp_path, "UD_One", 1)
    assert main(["compare", str(folder), "--baseline", "nobody"]) == 2
    assert main(["compare", str(folder), "--seeds", "0"]) == 2


def test_marks_are_those_of_the_paper() -> None:
    named = {name: System(name, TrainingOptions(oracle=name)) for name in ("static", "monotonic", "upper")}

    def test(points: float, chance: float) -> dict[str, float]:
        return {"uas": points, "uas_p": chance}

    assert mark(named, "upper", {"static": test(1, 0.01), "monotonic": test(1, 0.01)}, "uas") == "†"
    assert mark(named, "upper", {"static": test(1, 0.01), "monotonic": test(1, 0.2)}, "uas") == "*"
    assert mark(named, "upper", {"static": test(-1, 0.01), "monotonic": test(1, 0.01)}, "uas") == ""
    assert mark(named, "monotonic", {"static": test(1, 0.05), "upper": test(1, 0.05)}, "uas") == "†"
    assert mark(named, "static", {"monotonic": test(1, 0.01), "upper": test(1, 0.01)}, "uas") == ""


def test_the_code_is_part_of_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"learner.so": b"1", "training.py": b"2", "report.py": b"3", "learner.pyx": b"4"}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.setattr(comparison, "__file__", str(tmp_path / "comparison.py"))
    before = comparison.code_fingerprint()
    (tmp_path / "report.py").write_bytes(b"other")
    assert comparison.code_fingerprint() == before
    (tmp_path / "learner.so").write_bytes(b"other")
    assert comparison.code_fingerprint() != before


def test_parts_are_known_by_whole_words_of_their_names(tmp_path: Path) -> None:
    for name in ("contest-ud-train", "contest-ud-dev", "contest-ud-test", "devotional-notes"):
        (tmp_path / f"{name}.conllu").touch()
    for name in ("contest-ud-train.conllu.bak", "contest-ud-test.conllu~", ".contest-ud-test.conllu"):
        (tmp_path / name).touch()
    (treebank,) = find_treebanks([str(tmp_path)])
    parts = [[Path(file).name for file in part] for part in (treebank.train, treebank.dev, treebank.test)]
    assert parts == [[f"contest-ud-{part}.conllu"] for part in ("train", "dev", "test")]
    (tmp_path / "train-dev.conllu").touch()
    with pytest.raises(OptionError, match="two of them"):
        find_treebanks([str(tmp_path)])

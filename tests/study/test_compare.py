"""Comparisons on treebanks made in the test: planning, resuming, significance marks, tables."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path

import pytest

from covington.commands.cli import main
from covington.corpus.treebanks import find_treebanks
from covington.errors import DataError, JobError, OptionError
from covington.model.options import TrainingOptions
from covington.parsing.parser import Statistics
from covington.study import comparison, fingerprint
from covington.study.comparison import System, plan, systems
from covington.study.comparison_results import mark
from tests.evaluation.test_evaluation import as_conllu, random_corpus
from tests.support.browser import measure, picture


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


def test_what_a_run_keeps_is_of_one_piece(finished: Path) -> None:
    """Sentences and statistics add up to the counts; the curve ends with the scores of the model that is kept."""
    files = sorted((finished / "runs").glob("*.json"))
    for file in files:
        run = json.loads(file.read_text(encoding="utf-8"))
        for part in ("dev", "test"):
            words, heads, _, both, *_ = run[part]["counts"]["attachment"][0]
            assert [sum(column) for column in zip(*run[part]["sentences"], strict=True)] == [
                words,
                heads,
                both,
            ]
            assert len(run[part]["sentences"]) == run[part]["statistics"]["sentences"] == 30
            assert run[part]["statistics"]["tokens"] == words
            if part == "dev":
                assert run["curve"][-1] == {"uas": 100 * heads / words, "las": 100 * both / words}
        assert run["dev"] != run["test"] and 0 < both < heads < words


def test_all_files_of_a_part_count(tmp_path: Path) -> None:
    """Two test files are one test set; without a dev set, or where none is wanted, there is no curve."""
    folder = treebank(tmp_path, "UD_One", 10)
    (bank,) = find_treebanks([str(folder)])
    (one,) = plan([bank], systems(["upper"], ["epochs=1"]), 1)
    (two,) = plan([replace(bank, test=(*bank.test, *bank.dev))], systems(["upper"], ["epochs=1"]), 1)
    single, double = (comparison.execute(run, tmp_path) for run in (one, two))
    assert double["test"]["sentences"] == single["test"]["sentences"] + single["dev"]["sentences"]
    one_part, other_part, both = (
        Statistics(**run["statistics"]) for run in (single["test"], single["dev"], double["test"])
    )
    assert one_part + other_part == both
    words = [run["counts"]["attachment"][0][0] for run in (double["test"], single["test"], single["dev"])]
    assert words[0] == words[1] + words[2]
    assert len(single["curve"]) == 1
    (plain,) = plan([bank], systems(["upper"], ["epochs=1"]), 1, curve=False)
    assert plain.key != one.key
    found = comparison.execute(plain, tmp_path)
    assert found["curve"] == [] and found["model"] == single["model"]
    (bare,) = plan([replace(bank, dev=())], systems(["upper"], ["epochs=1"]), 1)
    found = comparison.execute(bare, tmp_path)
    assert found["curve"] == [] and "dev" not in found


def test_the_largest_treebank_is_trained_first(tmp_path: Path) -> None:
    for name, times in (("UD_A", 1), ("UD_B", 3), ("UD_C", 2)):
        file = treebank(tmp_path, name, 1) / "xx-ud-train.conllu"
        file.write_text(file.read_text(encoding="utf-8") * times, encoding="utf-8")
    runs = plan(find_treebanks([str(tmp_path)]), systems(["upper", "lower"], []), 2)
    order = [(run.treebank.name, run.options.seed, run.system) for run in runs]
    assert order == [
        (name, seed, system)
        for name in ("UD_B", "UD_C", "UD_A")
        for seed in (1, 2)
        for system in ("upper", "lower")
    ]


def test_a_run_is_known_under_another_name_but_not_under_another_key(finished: Path) -> None:
    banks = find_treebanks([str(finished / "banks")])
    run, other, *_ = plan(banks, systems(["mine=oracle:monotonic"], ["epochs=2"]), 2)
    found = comparison.load(run, finished / "runs")
    assert found is not None and found["system"] == "mine" and found["key"] == run.key
    assert comparison.load(replace(run, key="none"), finished / "runs") is None
    copy = finished / "runs" / f"{run.key}.copy.json"
    copy.write_bytes((finished / "runs" / f"{other.key}.json").read_bytes())
    try:
        with pytest.raises(DataError, match="not the result of this run"):
            comparison.load(replace(run, key=f"{run.key}.copy"), finished / "runs")
    finally:
        copy.unlink()


def test_a_treebank_needs_training_and_test_files(tmp_path: Path) -> None:
    for name, parts in (("UD_A", "train test"), ("UD_B", "train dev"), ("UD_C", "dev test")):
        (tmp_path / name).mkdir()
        for part in parts.split():
            (tmp_path / name / f"xx-ud-{part}.conllu").touch()
    with pytest.raises(OptionError, match=r"no \*test\* .conllu files in UD_B$"):
        find_treebanks([str(tmp_path)])
    with pytest.raises(OptionError, match=r"no \*train\* .conllu files$"):
        find_treebanks([str(tmp_path / "UD_C")])
    (found,) = find_treebanks([str(tmp_path / "UD_B")], "dev")
    assert found.name == "UD_B" and found.test == ()
    shutil.rmtree(tmp_path / "UD_B")
    (found,) = find_treebanks([str(tmp_path)])
    assert found.name == "UD_A" and found.dev == ()
    with pytest.raises(OptionError, match="same folder name"):
        find_treebanks([str(tmp_path), str(tmp_path / "UD_A")])


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
    for part in ("train", "dev", "test"):
        file = folder / f"xx-ud-{part}.conllu"
        sound = file.read_bytes()
        file.write_bytes(sound + b"\n")
        assert not keys & {run.key for run in plan(banks, chosen, 2)}
        file.write_bytes(sound)
    assert {run.key for run in plan(banks, chosen, 2)} == keys


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
        (["upper"], ["seed=7"], "--seeds"),
        (["mine=oracle:upper,seed:7"], [], "--seeds"),
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


@pytest.mark.parametrize("part", ["dev", "test"])
@pytest.mark.parametrize("text", ["", "\n\n"])
def test_a_part_without_words_is_an_error_and_not_a_number(
    part: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = treebank(tmp_path / "banks", "UD_One", 10)
    (folder / f"xx-ud-{part}.conllu").write_text(text)
    assert main(call(tmp_path, "--jobs", "1")) == 1
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert f"xx-ud-{part}.conllu: there are no words" in told
    assert not list((tmp_path / "runs").iterdir())


def test_marks_are_those_of_the_paper() -> None:
    named = {name: System(name, TrainingOptions(oracle=name)) for name in ("static", "monotonic", "upper")}

    def test(points: float, chance: float) -> dict[str, float]:
        return {"uas": points, "uas_p": chance}

    assert mark(named, "upper", {"static": test(1, 0.01), "monotonic": test(1, 0.01)}, "uas") == "†"
    assert mark(named, "upper", {"static": test(1, 0.01), "monotonic": test(1, 0.2)}, "uas") == "*"
    assert mark(named, "upper", {"static": test(-1, 0.01), "monotonic": test(1, 0.01)}, "uas") == ""
    assert mark(named, "monotonic", {"static": test(1, 0.05), "upper": test(1, 0.05)}, "uas") == "†"
    assert mark(named, "static", {"monotonic": test(1, 0.01), "upper": test(1, 0.01)}, "uas") == ""
    named["lower"] = System("lower", TrainingOptions(oracle="lower"))
    both = {"static": test(1, 0.01), "upper": test(1, 0.01)}
    assert mark(named, "monotonic", {**both, "lower": test(1, 0.01)}, "uas") == "†"
    assert mark(named, "monotonic", {**both, "lower": test(1, 0.2)}, "uas") == "*"
    assert (
        mark(named, "upper", {"monotonic": test(1, 0.01)}, "uas") == ""
    )  # no static oracle to be better than
    assert mark(named, "upper", {"static": test(1, 0.01)}, "uas") == "*"


def test_the_code_is_part_of_the_key(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another content makes a run another one; another folder does not."""
    code = tmp_path / "learner.so"
    code.write_bytes(b"1")
    monkeypatch.setattr(fingerprint, "imported", lambda module: (code,))

    def key() -> str:
        return plan(find_treebanks([str(finished / "banks")]), systems(["upper"], []), 1)[0].key

    before = key()
    assert key() == before
    code.write_bytes(b"2")
    assert key() != before
    code.write_bytes(b"1")
    (tmp_path / "learning").mkdir()
    code = code.rename(tmp_path / "learning" / "learner.so")
    assert key() == before


def test_parts_are_known_by_whole_words_of_their_names(tmp_path: Path) -> None:
    for name in ("contest-ud-train", "contest-ud-dev", "contest-ud-test", "devotional-notes"):
        (tmp_path / f"{name}.conllu").touch()
    for name in ("contest-ud-train.conllu.bak", "contest-ud-test.conllu~", ".contest-ud-test.conllu"):
        (tmp_path / name).touch()
    (treebank,) = find_treebanks([str(tmp_path)])
    parts = [[Path(file).name for file in part] for part in (treebank.train, treebank.dev, treebank.test)]
    assert parts == [[f"contest-ud-{part}.conllu"] for part in ("train", "dev", "test")]
    for name in ("train-dev.conllu", "dev-test.conllu", "train-test.conllu"):
        (tmp_path / name).touch()
        with pytest.raises(OptionError, match=f"{name}: .* two of them"):
            find_treebanks([str(tmp_path)])
        (tmp_path / name).unlink()


def test_a_killed_process_is_one_sentence(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed:
        def __init__(self, *_: object, **__: object) -> None: ...
        def __enter__(self) -> Killed:
            return self

        def __exit__(self, *_: object) -> None: ...
        def submit(self, *_: object) -> Future[object]:
            future: Future[object] = Future()
            future.set_exception(BrokenProcessPool())
            return future

    monkeypatch.setattr(comparison, "ProcessPoolExecutor", Killed)
    runs = plan(find_treebanks([str(finished / "banks")]), systems(["upper"], ["epochs=1"]), 1)
    with pytest.raises(JobError, match="was killed"):
        comparison.make(runs, tmp_path, 1, lambda result, known: None)

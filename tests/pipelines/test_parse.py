"""The parse pipeline: what goes in comes out, in order, the same on every runner."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apache_beam as beam
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import covington
from covington import models
from covington.commands.cli import main
from covington.engine.model import Model
from covington.engine.shards import EarlierReport
from covington.engine.work import ParseOptions, done_shards, write_shard
from covington.errors import CovingtonError, OptionError
from covington.files.storage import remove
from covington.parsing.parser import Parser
from covington.pipelines import ParseJob, ParseSentences, ReadSentences, Runner, WriteSentences, parse
from tests.support.folders import files, rows
from tests.support.sample import SAMPLE

SMALL = 5_000  # bytes: some twenty blocks of the corpus
ONE = Runner(threads=1)


def job(corpus: Path | str, folder: Path | str, model: str, **more: Any) -> ParseJob:
    return ParseJob([str(corpus)], str(folder), model, block_bytes=SMALL, **more)


@pytest.fixture(scope="module")
def expected(corpus: Path, small_model: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The corpus parsed by one worker in this process."""
    folder = tmp_path_factory.mktemp("expected") / "out"
    report = job(corpus, folder, small_model).run(ONE)
    assert (report.counted, report.sentences, report.rejects) == (44 * 42 + 4, 44 * 42, 4)
    return folder


def test_rows_are_what_the_parser_gives(expected: Path, corpus: Path, small_model: str) -> None:
    parser = Parser.load(small_model)
    wanted = []
    for name in ("a.conllu", "b.conllu.gz", "c.conllu"):
        for batch in covington.read_conllu(str(corpus / name), rejects=lambda batch: None):
            wanted += parser.parse(batch).to_pylist()
    assert rows(expected) == wanted


def test_rejects_have_their_own_place(expected: Path) -> None:
    found = pq.read_table(expected / "_rejects").to_pylist()
    assert [row["sent_id"] for row in found] == ["bad-9", "bad-19", "bad-29", "bad-39"]
    assert [row["position"] for row in found] == [10, 21, 32, 43]
    assert all(row["source"].endswith("c.conllu") and row["reason"] for row in found)


def test_nothing_but_results_is_left(expected: Path) -> None:
    names = list(files(expected))
    shards = [name for name in names if name.startswith("shard-")]
    assert set(names) - set(shards) == {"_job.json", "_summary.json"} | {
        name for name in names if name.startswith("_rejects/")
    }
    assert shards == [f"shard-{n:05d}-of-{len(shards):05d}.parquet" for n in range(len(shards))]
    summary = json.loads((expected / "_summary.json").read_text())
    assert summary["counted"] == summary["sentences"] + summary["rejects"]
    assert (
        summary["statistics"]["tokens"]
        == summary["tokens"]
        == sum(len(row["tokens"]) for row in rows(expected))
    )


@pytest.mark.parametrize("threads", [2, 3])
def test_the_number_of_threads_changes_no_byte(
    threads: int, expected: Path, corpus: Path, small_model: str, tmp_path: Path
) -> None:
    job(corpus, tmp_path, small_model).run(Runner(threads=threads))
    assert files(tmp_path) == files(expected)


@pytest.mark.parametrize("mode", ["in_memory", "multi_threading", "multi_processing"])
def test_modes_of_the_direct_runner_change_no_byte(
    mode: str, expected: Path, corpus: Path, small_model: str, tmp_path: Path
) -> None:
    flags = ("--runner=DirectRunner", f"--direct_running_mode={mode}", "--direct_num_workers=2")
    job(corpus, tmp_path, small_model).run(Runner(flags))
    assert files(tmp_path) == files(expected)


@pytest.mark.parametrize("environment", ["LOOPBACK", "EXTERNAL"])
def test_the_portable_runner_changes_no_byte(
    environment: str,
    expected: Path,
    corpus: Path,
    small_model: str,
    tmp_path: Path,
    job_service: str,
    worker_pool: str,
) -> None:
    flags = ("--runner=PortableRunner", f"--job_endpoint={job_service}", f"--environment_type={environment}")
    more = (f"--environment_config={worker_pool}",) if environment == "EXTERNAL" else ()
    job(corpus, tmp_path, small_model).run(Runner((*flags, *more)))
    assert files(tmp_path) == files(expected)


def test_parquet_comes_in_too(expected: Path, small_model: str, tmp_path: Path) -> None:
    again = tmp_path / "again"
    report = ParseJob([str(expected)], str(again), small_model).run(ONE)
    assert report.rejects == 0
    assert rows(again) == rows(expected)


def test_conllu_shards(corpus: Path, small_model: str, tmp_path: Path) -> None:
    job(corpus / "a.conllu", tmp_path, small_model, format="conllu").run(ONE)
    text = b"".join(path.read_bytes() for path in sorted(tmp_path.glob("shard-*.conllu")))
    one = tmp_path / "one.conllu"
    assert main(["parse", str(corpus / "a.conllu"), "-o", str(one), "--model", small_model]) == 0
    assert text == one.read_bytes()


def test_options_reach_the_parser(corpus: Path, small_model: str, tmp_path: Path) -> None:
    job(corpus / "c.conllu", tmp_path, small_model, options=ParseOptions(max_length=6, confidence=True)).run(
        ONE
    )
    for row in rows(tmp_path):
        assert (row["flags"] == ["too-long"]) == (len(row["tokens"]) > 6)
        assert row["confidence"] is not None


@pytest.mark.parametrize("output", ["parsed.conllu", "parsed"])
def test_text_without_tags_is_told(
    output: str, small_model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Some sentences: a line of the summary. All of them: the command fails, though everything is written."""
    word = "1\tGo\t_\t{}\t_\t_\t_\t_\t_\t_\n\n"
    call = ["parse", str(tmp_path / "in.conllu"), "-o", str(tmp_path / output), "--model", small_model]
    (tmp_path / "in.conllu").write_text(word.format("VERB") + 2 * word.format("_"))
    assert main(call) == 0
    assert "2 sentences without a tag that the model knows" in capsys.readouterr().err
    (tmp_path / "in.conllu").write_text(2 * word.format("_"))
    assert main([*call, "--overwrite"]) == 1
    assert "covington: no sentence has a part-of-speech tag that this model knows" in capsys.readouterr().err
    assert sum(batch.num_rows for batch in covington.read_sentences(tmp_path / output)) == 2
    (tmp_path / "in.conllu").write_text(2 * word.format("VBP"))
    assert main([*call, "--overwrite"]) == 1
    assert "2 of 2 words have a tag in UPOS that the model does not know" in capsys.readouterr().err


@pytest.mark.parametrize("output", ["parsed.parquet", "parsed"])
def test_columns_that_are_missing_or_left_out_are_told(
    output: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = pa.table(
        {
            "tokens": [["Dogs", "bark"], ["Go"]],
            "upos": [["NOUN", "VERB"], ["VERB"]],
            "xpos": [["NNS", "VBP"], ["VB"]],
            "doc_id": [1, 2],
            "language": ["en", "en"],
        }
    )
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=1)
    call = ["parse", str(tmp_path / "in.parquet"), "-o", str(tmp_path / output), "--json"]
    assert main([*call]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["statistics"]["filled"] == {"upos": 3, "xpos": 3, "feats": 0, "lemmas": 0}
    assert summary["statistics"]["unknown"] == {"upos": 0, "xpos": 0}
    assert summary["left_out"] == ["doc_id", "language"]
    assert summary["model"] == Parser.load(models.DEFAULT).checksum
    assert summary["version"] == covington.__version__
    assert main([*call[:-1], "--overwrite"]) == 0
    told = capsys.readouterr().err
    assert "no word has FEATS or LEMMA, which the model has learnt from" in told
    assert f"--model {models.PLAIN} needs UPOS alone" in told
    assert "2 columns of the input left out (source and position tell the row): doc_id, language" in told
    assert main([*call[:-1], "--overwrite", "--model", models.PLAIN]) == 0
    assert "no word has" not in capsys.readouterr().err


@pytest.mark.parametrize("format", ["parquet", "conllu"])
def test_counters_are_those_of_the_summary(
    format: str, corpus: Path, small_model: str, tmp_path: Path
) -> None:
    """Also where CoNLL-U cannot hold what was parsed."""
    table = pa.table({"tokens": [["a\tb", "c"], ["d"]], "upos": [["X", "X"], ["X"]]})
    pq.write_table(table, tmp_path / "rows.parquet")
    pipeline = beam.Pipeline(runner="FnApiRunner")
    reports = (
        pipeline
        | ReadSentences([str(corpus / "c.conllu"), str(tmp_path / "rows.parquet")])
        | ParseSentences(small_model)
        | WriteSentences(str(tmp_path / "out"), format)
    )
    _ = reports
    result = pipeline.run()
    result.wait_until_finish()
    found = {one.key.metric.name: one.committed for one in result.metrics().query()["counters"]}
    summary = json.loads((tmp_path / "out" / "_summary.json").read_text())
    wanted = {name: summary[name] for name in ("sentences", "tokens", "rejects")}
    wanted |= {
        "non_monotonic": summary["statistics"]["non_monotonic"],
        "transitions": sum(
            summary["statistics"]["taken"][name] for name in ("Shift", "NoArc", "LeftArc", "RightArc")
        ),
    }
    assert {name: found[name] for name in wanted} == wanted


def test_a_folder_that_is_not_empty_is_refused(corpus: Path, small_model: str, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("precious")
    (tmp_path / "shard-00000-of-00009.parquet").write_text("of an earlier job")
    with pytest.raises(OptionError, match="is not empty"):
        job(corpus, tmp_path, small_model).run(ONE)
    job(corpus, tmp_path, small_model, overwrite=True).run(ONE)
    assert (tmp_path / "mine.txt").read_text() == "precious"
    assert not (tmp_path / "shard-00000-of-00009.parquet").exists()


def test_an_unfinished_job_is_taken_up_again(
    expected: Path, corpus: Path, small_model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from covington.pipelines import transforms

    written: list[int] = []
    write = transforms.write_shard

    def fails_in_the_middle(shard: Any, folder: str, *options: str) -> Any:
        if len(written) == 7:
            raise OSError(28, "No space left on device", folder)
        written.append(shard.number)
        return write(shard, folder, *options)

    monkeypatch.setattr(transforms, "write_shard", fails_in_the_middle)
    with pytest.raises(CovingtonError, match="No space left on device"):
        job(corpus, tmp_path, small_model).run(ONE)
    assert len(list(tmp_path.glob("shard-*"))) == 7
    assert not (tmp_path / "_summary.json").exists()
    with pytest.raises(OptionError, match="not finished, with other inputs or options"):
        job(corpus / "a.conllu", tmp_path, small_model).run(ONE)

    def counts(shard: Any, folder: str, *options: str) -> Any:
        assert shard.number not in written
        return write(shard, folder, *options)

    monkeypatch.setattr(transforms, "write_shard", counts)
    (tmp_path / "_work" / "job.json").unlink()  # as if killed before it was there
    job(corpus, tmp_path, small_model).run(ONE)
    assert files(tmp_path) == files(expected)


@pytest.fixture(scope="module")
def unclosed(corpus: Path, small_model: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A job that has made everything, and was killed before it closed its folder."""
    folder = tmp_path_factory.mktemp("unclosed") / "out"
    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(parse, "close_folder", _interrupt)
        job(corpus, folder, small_model).run(ONE)
    return folder


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def no_work(_: object) -> None:
    raise AssertionError("a finished job must parse nothing")


@pytest.mark.parametrize("backwards", [False, True])
def test_a_job_that_was_killed_while_closing_is_finished(
    backwards: bool,
    unclosed: Path,
    expected: Path,
    corpus: Path,
    small_model: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However many files of `_work` are gone, in whatever order; the last time all of them, and the folder too."""
    monkeypatch.setattr(Runner, "run", lambda *_: no_work(None))
    again = job(corpus, tmp_path / "out", small_model)
    work = sorted(path.relative_to(unclosed) for path in (unclosed / "_work").iterdir())
    assert Path("_work/job.json") in work
    for gone in range(len(work) + 2):
        shutil.copytree(unclosed, tmp_path / "out")
        shutil.copy(expected / "_summary.json", tmp_path / "out")
        for name in sorted(work, reverse=backwards)[:gone]:
            (tmp_path / "out" / name).unlink()
        if gone > len(work):
            (tmp_path / "out" / "_work").rmdir()
        report = again.run(ONE)
        assert isinstance(report, EarlierReport)
        assert report.adds_up and report.sentences == 44 * 42
        assert files(tmp_path / "out") == files(expected)
        shutil.rmtree(tmp_path / "out")


def test_a_job_that_was_killed_before_its_summary_has_nothing_to_parse(
    unclosed: Path, expected: Path, corpus: Path, small_model: str, tmp_path: Path
) -> None:
    shutil.copytree(unclosed, tmp_path / "out")
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("shard-*")}
    report = job(corpus, tmp_path / "out", small_model).run(ONE)
    assert not isinstance(report, EarlierReport)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("shard-*")} == times
    assert files(tmp_path / "out") == files(expected)


def test_a_finished_job_that_has_lost_a_shard_makes_it_again(
    expected: Path, corpus: Path, small_model: str, tmp_path: Path
) -> None:
    shutil.copytree(expected, tmp_path / "out")
    next((tmp_path / "out").glob("shard-*")).unlink()
    assert not isinstance(job(corpus, tmp_path / "out", small_model).run(ONE), EarlierReport)
    assert files(tmp_path / "out") == files(expected)


def test_a_finished_job_says_so(small_model: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source, out = tmp_path / "in.conllu", tmp_path / "out"
    source.write_bytes(Path(SAMPLE).read_bytes())
    call = ["parse", str(source), "-o", str(out), "--model", small_model]
    assert main(call) == 0
    first = files(out)
    capfd.readouterr()
    assert main(call) == 0
    told = f"{out} was finished before: 42 sentences, 350 words; --overwrite parses them again\n"
    assert capfd.readouterr().err == told
    assert main([*call, "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["was_finished"]
    assert main([*call, "--json", "--overwrite"]) == 0
    assert not json.loads(capfd.readouterr().out)["was_finished"]
    assert files(out) == first
    for more in (["--roots", "many"], ["--format", "conllu"]):
        assert main([*call, *more]) == 2
        assert "holds the results of a job with other inputs or options; --over" in capfd.readouterr().err
    with source.open("ab") as file:
        file.write(b"1\tno tabs\n\n")
    assert main(call) == 2
    assert main([*call, "--overwrite"]) == 0
    assert main(call) == 0
    assert main([*call, "--strict"]) == 1
    assert "in.conllu:" in capfd.readouterr().err.splitlines()[-1]


def test_a_killed_replacement_is_not_taken_for_finished(
    expected: Path, corpus: Path, small_model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever was deleted of the earlier results, the earlier job makes them again."""
    again = job(corpus, tmp_path / "out", small_model)
    count = len(files(expected))
    for removed in (1, 2, count // 2, count):
        shutil.copytree(expected, tmp_path / "out")

        def kill(paths: Sequence[str], left: list[int] = [removed]) -> None:  # noqa: B006
            for path in paths:
                if not left[0]:
                    raise KeyboardInterrupt
                left[0] -= Path(path).exists()
                remove([path])

        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(parse, "remove", kill)
            patch.setattr(parse, "write_json", _interrupt)
            job(corpus, tmp_path / "out", small_model, overwrite=True, format="conllu").run(ONE)
        assert len(files(tmp_path / "out")) == count - removed
        try:
            assert not isinstance(again.run(ONE), EarlierReport)
        except OptionError:  # what is left has no name any longer
            assert not (tmp_path / "out" / "_job.json").exists()
            job(corpus, tmp_path / "out", small_model, overwrite=True).run(ONE)
        assert files(tmp_path / "out") == files(expected)
        shutil.rmtree(tmp_path / "out")


def test_strict_stops_at_the_first_bad_sentence(corpus: Path, small_model: str, tmp_path: Path) -> None:
    with pytest.raises(CovingtonError, match=r"c\.conllu:\d+: sentence bad-\d"):
        job(corpus, tmp_path, small_model, strict=True).run(Runner(threads=2))


def test_strict_looks_at_what_was_done_before(corpus: Path, small_model: str, tmp_path: Path) -> None:
    """A job that was stopped behind a shard with rejects is not taken up as if all had been well."""
    whole = job(corpus, tmp_path / "whole", small_model)
    report = whole.run(ONE)
    folder = tmp_path / "stopped"
    reading = ReadSentences(str(corpus), SMALL)
    begun = job(corpus, folder, small_model)
    name, _ = begun._begin(begun._description(Model.pin(small_model), reading))
    with beam.Pipeline(runner="FnApiRunner") as pipeline:
        shards = pipeline | reading | ParseSentences(small_model)
        _ = shards | beam.Map(write_shard, str(folder), "parquet", name)
    assert len(done_shards(str(folder))) == report.of
    with pytest.raises(CovingtonError, match="sentence bad-"):
        job(corpus, folder, small_model, strict=True).run(ONE)
    job(corpus, folder, small_model).run(ONE)
    assert files(folder) == files(tmp_path / "whole")


def test_rejects_keep_step_with_their_output(small_model: str, tmp_path: Path) -> None:
    good = Path(SAMPLE).read_bytes()
    source, rejects = tmp_path / "in.conllu", tmp_path / "out.conllu.rejects.parquet"
    calls = [
        ["parse", str(source), "-o", str(tmp_path / "out.conllu"), "--model", small_model],
        ["convert", str(source), "-o", str(tmp_path / "out.conllu")],
    ]
    for call in calls:
        source.write_bytes(good + b"1\tno tabs\n\n")
        assert main(call) == 0
        assert pq.read_table(rejects).num_rows == 1
        source.write_bytes(good)
        assert main(call) == 0
        assert not rejects.exists()  # it would tell of another run


def test_rejects_are_not_left_without_their_output(
    small_model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "in.conllu"
    source.write_bytes(Path(SAMPLE).read_bytes() + b"1\tno tabs\n\n")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    assert main(["parse", str(source), "-o", str(tmp_path / "out.parquet"), "--model", small_model]) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["in.conllu"]


def test_windows_do_not_matter(small_model: str, tmp_path: Path) -> None:
    folders = [tmp_path / "plain", tmp_path / "windows"]
    for folder in folders:
        with beam.Pipeline(runner="FnApiRunner") as pipeline:
            shards = pipeline | ReadSentences(SAMPLE, SMALL)
            if folder.name == "windows":
                shards |= beam.WindowInto(beam.window.FixedWindows(10))
            _ = shards | ParseSentences(small_model) | WriteSentences(str(folder))
    assert files(folders[0]) == files(folders[1])


def test_one_folder_takes_the_shards_of_one_reading(corpus: Path, tmp_path: Path) -> None:
    with (
        pytest.raises(CovingtonError, match="several ReadSentences"),
        beam.Pipeline(runner="FnApiRunner") as pipeline,
    ):
        both = (
            pipeline | "One" >> ReadSentences(SAMPLE),
            pipeline | "Two" >> ReadSentences(str(corpus / "c.conllu")),
        )
        _ = both | beam.Flatten() | WriteSentences(str(tmp_path / "out"))


def test_a_model_that_is_not_the_one_of_the_job_is_refused(small_model: str) -> None:
    with pytest.raises(CovingtonError, match="give all workers the same model"):
        Model(small_model, "0" * 16).load()


def test_empty_input_gives_an_empty_result(small_model: str, tmp_path: Path) -> None:
    (tmp_path / "empty.conllu").write_bytes(b"")
    report = job(tmp_path / "empty.conllu", tmp_path / "out", small_model).run(ONE)
    assert (report.shards, report.counted) == (0, 0)
    assert json.loads((tmp_path / "out" / "_summary.json").read_text())["sentences"] == 0


def test_a_shard_without_sentences_has_the_columns_of_the_others(small_model: str, tmp_path: Path) -> None:
    """Or the folder would be no dataset: readers take the columns from the first file."""
    source = tmp_path / "in"
    source.mkdir()
    (source / "a.conllu").write_bytes(b"1\tnot\ta sentence\n\n")
    (source / "b.conllu").write_bytes(Path(SAMPLE).read_bytes())
    assert job(source, tmp_path / "out", small_model).run(ONE).rejects == 1
    names = [pq.read_schema(path).names for path in sorted((tmp_path / "out").glob("*.parquet"))]
    assert len(names) > 1 and all(one == names[0] for one in names)
    assert {"model", "flags", "confidence"} <= {*names[0]}
    (source / "b.conllu").write_bytes(b"\n")
    assert main(["parse", str(source / "b.conllu"), "-o", str(tmp_path / "b.parquet")]) == 0
    assert pq.read_schema(tmp_path / "b.parquet").names == names[0]


def test_an_input_by_another_name_is_another_job(
    small_model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or sentences of one file would have two sources."""
    from covington.pipelines import transforms

    def fails(*_: object) -> Any:
        raise OSError(28, "No space left on device", "out")

    (tmp_path / "a.conllu").write_bytes(Path(SAMPLE).read_bytes())
    monkeypatch.chdir(tmp_path)
    with monkeypatch.context() as patch, pytest.raises(CovingtonError, match="No space left"):
        patch.setattr(transforms, "write_shard", fails)
        ParseJob(["a.conllu"], "out", small_model).run(ONE)
    with pytest.raises(OptionError, match="with other inputs or options"):
        ParseJob(["./a.conllu"], "out", small_model).run(ONE)
    assert ParseJob(["a.conllu"], "out", small_model).run(ONE).sentences == 42


def test_many_small_files(small_model: str, tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.mkdir()
    sentences = Path(SAMPLE).read_bytes().strip().split(b"\n\n")
    for number in range(100):
        (source / f"{number:03d}.conllu").write_bytes(sentences[number % 42] + b"\n\n")
    report = ParseJob([str(source / "*.conllu")], str(tmp_path / "out"), small_model).run(Runner(threads=2))
    assert (report.shards, report.sentences) == (100, 100)
    assert [row["sent_id"] for row in rows(tmp_path / "out")][:3] == ["en-01", "en-02", "en-03"]

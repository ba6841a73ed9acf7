"""Evaluation as a pipeline: the numbers of a plain loop, whatever the files, the runner and the workers."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from apache_beam.testing.util import assert_that

from covington.commands.cli import main
from covington.commands.evaluate import evaluate
from covington.corpus.parquet.tables import write_parquet
from covington.corpus.reading import read_conllu
from covington.engine.tally import Problem, Tally, tally
from covington.errors import CovingtonError, DataError
from covington.evaluation.counts import count, sentence_scores
from covington.files.storage import list_inputs
from covington.pipelines import EvaluateJob, Runner, ScoreParses
from covington.pipelines.scoring import AddTallies
from tests.evaluation.test_evaluation import as_conllu, independent, noisy_copy, random_corpus
from tests.support.sample import SAMPLE

SENTENCES = 200
BLOCK = 3_000  # bytes: some twenty blocks
STRETCH = 15

Texts = list[str]  # of the sentences, each with the blank line after it


@pytest.fixture(scope="module")
def gold() -> Texts:
    return sentences(as_conllu(random_corpus(21, SENTENCES)[0]))


@pytest.fixture(scope="module")
def system(gold: Texts) -> Texts:
    return sentences(noisy_copy("".join(gold), random.Random(5)))


def sentences(text: str) -> Texts:
    return [f"{part}\n\n" for part in text.strip().split("\n\n")]


def written(path: Path, texts: Texts) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(texts), encoding="utf-8")
    return str(path)


def batch_of(texts: Texts) -> pa.RecordBatch:
    (found,) = read_conllu(io.BytesIO("".join(texts).encode()), strict=True, batch_size=1 << 20)
    return found


def plain(gold: Texts, system: Texts) -> Tally:
    """The metrics themselves, in one go."""
    pair = batch_of(gold), batch_of(system)
    return Tally(count(*pair), rows=((0, sentence_scores(*pair)),))


# how the sentences of a side may be laid out on disk


def as_one_file(folder: Path, texts: Texts) -> str:
    return written(folder / "one.conllu", texts)


def as_compressed(method: Callable[[bytes], bytes]) -> Callable[[Path, Texts], str]:
    def write(folder: Path, texts: Texts) -> str:
        path = folder / "packed.conllu.x"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(method("".join(texts).encode()))
        return str(path)

    return write


def as_files(folder: Path, texts: Texts) -> str:
    """Three files in order of their names, one of them compressed, one empty."""
    written(folder / "a.conllu", texts[:77])
    (folder / "b.conllu.gz").write_bytes(gzip.compress("".join(texts[77:130]).encode()))
    (folder / "c.conllu").write_bytes(b"")
    written(folder / "d" / "d.conllu", texts[130:])
    return str(folder)


def as_shards(number: int) -> Callable[[Path, Texts], str]:
    """Parquet shards under names that say nothing of their order."""

    def write(folder: Path, texts: Texts) -> str:
        folder.mkdir(parents=True, exist_ok=True)
        batch = batch_of(texts)
        edges = [batch.num_rows * part // number for part in range(number + 1)]
        names = random.Random(number).sample(range(1000), number)
        for name, start, end in zip(names, edges[:-1], edges[1:], strict=True):
            write_parquet([batch.slice(start, end - start)], folder / f"{name}.parquet")
        return f"{folder}/*.parquet"

    return write


def in_disorder(folder: Path, texts: Texts) -> str:
    """Parquet files that have the sentences in an arbitrary order."""
    folder.mkdir(parents=True, exist_ok=True)
    batch = batch_of(texts)
    order = list(range(batch.num_rows))
    random.Random(1).shuffle(order)
    for name, part in (("x", order[:50]), ("y", order[50:])):
        write_parquet([batch.take(part)], folder / f"{name}.parquet")
    return str(folder)


def without_places(folder: Path, texts: Texts) -> str:
    """A table by somebody else: no column says where a sentence stands, so the order of the rows does."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "other.parquet"
    table = pa.table(batch_of(texts)).select(["tokens", "upos", "head", "deprel"])
    pa.parquet.write_table(table, path, row_group_size=33)
    return str(path)


LAYOUTS: dict[str, Callable[[Path, Texts], str]] = {
    "one file": as_one_file,
    "gzip": as_compressed(gzip.compress),
    "bzip2": as_compressed(bz2.compress),
    "xz": as_compressed(lzma.compress),
    "zstd": as_compressed(lambda data: bytes(pa.compress(data, "zstd", asbytes=True))),
    "files": as_files,
    "1 shard": as_shards(1),
    "7 shards": as_shards(7),
    "60 shards": as_shards(60),
    "disorder": in_disorder,
    "no places": without_places,
}


def same(found: Tally, expected: Tally) -> None:
    assert found.counts.to_dict() == expected.counts.to_dict()
    assert np.array_equal(found.sentence_scores, expected.sentence_scores)


@pytest.mark.parametrize("golds", ["one file", "xz", "files", "7 shards", "disorder"])
@pytest.mark.parametrize("systems", list(LAYOUTS))
def test_numbers_do_not_depend_on_the_files(
    golds: str, systems: str, gold: Texts, system: Texts, tmp_path: Path
) -> None:
    sides = [
        list_inputs([LAYOUTS[layout](tmp_path / name, texts)])
        for name, layout, texts in (("gold", golds, gold), ("system", systems, system))
    ]
    expected = plain(gold, system)
    same(tally(*sides, rows=True, block_bytes=BLOCK, stretch=STRETCH), expected)
    same(tally(*sides, rows=True), expected)


@pytest.mark.parametrize("layout", ["7 shards", "zstd"])
def test_the_transform_gives_the_same(layout: str, gold: Texts, system: Texts, tmp_path: Path) -> None:
    right, parsed = as_one_file(tmp_path / "gold", gold), LAYOUTS[layout](tmp_path / "system", system)
    expected = plain(gold, system)

    def check(tallies: list[Tally]) -> None:
        (found,) = tallies
        same(found, expected)

    with beam.Pipeline(runner="FnApiRunner") as pipeline:
        found = pipeline | ScoreParses(right, parsed, rows=True, block_bytes=BLOCK, stretch=STRETCH)
        assert_that(found, check)


@pytest.mark.parametrize("given", [Path, lambda path: [Path(path)], lambda path: [path]])
def test_sides_are_paths_of_any_kind(
    given: Callable[[str], Any], gold: Texts, system: Texts, tmp_path: Path
) -> None:
    right, parsed = as_one_file(tmp_path / "gold", gold), as_one_file(tmp_path / "system", system)

    def check(tallies: list[Tally]) -> None:
        (found,) = tallies
        same(found, plain(gold, system))

    with beam.Pipeline(runner="FnApiRunner") as pipeline:
        assert_that(pipeline | ScoreParses(given(right), given(parsed), rows=True), check)


def test_scores_are_those_of_an_independent_computation(
    gold: Texts, system: Texts, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parsed = as_shards(5)(tmp_path / "system", system)
    call = ["evaluate", as_one_file(tmp_path, gold), parsed, "--json", "-", "--runner", "DirectRunner"]
    assert main(call) == 0
    (found,) = json.loads(capsys.readouterr().out)["systems"]
    expected = independent("".join(gold), "".join(system))
    assert {key: found[key] for key in expected} == pytest.approx(expected, abs=1e-12)


def test_tallies_add_up_in_any_order(gold: Texts, system: Texts) -> None:
    parts = []
    for start in range(0, SENTENCES, 40):
        pair = batch_of(gold[start : start + 40]), batch_of(system[start : start + 40])
        parts.append(Tally(count(*pair), rows=((start, sentence_scores(*pair)),)))
    parts[3] = Tally(parts[3].counts, Problem(130, "later"), parts[3].rows)
    parts[1] = Tally(parts[1].counts, Problem(50, "first"), parts[1].rows)
    combiner = AddTallies()
    for seed in range(5):
        random.Random(seed).shuffle(parts)
        groups = [parts[:2], parts[2:], []]
        accumulators = []
        for group in groups:
            accumulator = combiner.create_accumulator()
            for part in group:
                accumulator = combiner.add_input(accumulator, part)
            accumulators.append(accumulator)
        total = combiner.extract_output(combiner.merge_accumulators(accumulators))
        same(total, plain(gold, system))
        assert total.problem == Problem(50, "first")
        with pytest.raises(DataError, match=r"^first$"):
            total.agreed()


# the command


@pytest.fixture(scope="module")
def folders(
    gold: Texts, system: Texts, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, list[str], dict[str, Any]]:
    """Gold, two systems in different forms, and what the command says of them without Beam."""
    folder = tmp_path_factory.mktemp("evaluate")
    other = sentences(noisy_copy("".join(system), random.Random(6)))
    given = [as_shards(7)(folder / "one", system), as_files(folder / "two", other)]
    right = as_one_file(folder, gold)
    return right, given, evaluate(right, given, ["one", "two"], 200, 1)


RUNNERS = {
    "threads": ["--threads", "3"],
    "one worker": ["--runner", "DirectRunner", "--direct_num_workers", "1"],
    "processes": ["--direct_running_mode", "multi_processing", "--direct_num_workers", "2"],
}


@pytest.mark.parametrize("runner", list(RUNNERS))
def test_the_report_is_the_same_on_every_runner(
    runner: str,
    folders: tuple[str, list[str], dict[str, Any]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    right, given, expected = folders
    names = ["--name", "one", "--name", "two", "--trials", "200", "--temp_location", str(tmp_path / "work")]
    assert main(["evaluate", right, *given, *names, "--json", "-", *RUNNERS[runner]]) == 0
    assert json.loads(capsys.readouterr().out) == expected
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_portable_runner_gives_the_same(
    folders: tuple[str, list[str], dict[str, Any]],
    job_service: str,
    worker_pool: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    right, given, expected = folders
    names = ["--name", "one", "--name", "two", "--trials", "200"]
    flags = ["--runner=PortableRunner", f"--job_endpoint={job_service}", "--environment_type=EXTERNAL"]
    flags.append(f"--environment_config={worker_pool}")
    assert main(["evaluate", right, *given, *names, "--json", "-", *flags]) == 0
    assert json.loads(capsys.readouterr().out) == expected


def test_parse_then_evaluate(
    corpus: Path, small_model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder of shards against the corpus that it was parsed from, as files and as a stream."""
    parts = tmp_path / "corpus"
    parts.mkdir()
    for name in ("a.conllu", "b.conllu.gz"):
        (parts / name).write_bytes((corpus / name).read_bytes())
    assert main(["parse", str(parts), "-o", str(tmp_path / "out"), "--model", small_model]) == 0
    stream = f"{tmp_path}/out.conllu"
    assert main(["parse", str(parts), "-o", stream, "--model", small_model]) == 0
    capsys.readouterr()
    found = []
    for parsed in (str(tmp_path / "out"), stream):
        assert main(["evaluate", str(parts), parsed, "--name", "x", "--json", "-"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0] == found[1]
    assert found[0]["systems"][0]["sentences"] == 43 * 42


@pytest.mark.parametrize("side", [0, 1])
def test_one_side_may_be_a_stream(side: int, gold: Texts, system: Texts, tmp_path: Path) -> None:
    sides = [as_one_file(tmp_path / "gold", gold), as_one_file(tmp_path / "system", system)]
    expected = evaluate(*sides_of(sides), ["x"], 1, 1)["systems"]
    text = Path(sides[side]).read_bytes()
    sides[side] = "-"
    command = [sys.executable, "-m", "covington", "evaluate", *sides, "--name", "x", "--json", "-"]
    done = subprocess.run(command, input=text, capture_output=True, check=True)
    assert json.loads(done.stdout)["systems"] == expected


def sides_of(paths: list[str]) -> tuple[str, list[str]]:
    return paths[0], paths[1:]


# what does not match


def renamed(text: str, name: str) -> str:
    return text.replace("# sent_id = s", f"# sent_id = {name}", 1)


MISMATCHES: dict[str, tuple[Callable[[Texts], Texts], str]] = {
    "missing": (lambda texts: texts[:90] + texts[91:], "sentence s90: is missing in x, where sentence s91"),
    "missing at the end": (lambda texts: texts[:-1], "sentence s199: is missing in x, which ends before it"),
    "extra": (
        lambda texts: [*texts[:90], renamed(texts[5], "new"), *texts[90:]],
        "sentence s90: faces sentence new5 in x, which gold does not have there",
    ),
    "extra at the end": (
        lambda texts: [*texts, renamed(texts[5], "new")],
        "sentence new5: stands in x after the last gold sentence",
    ),
    "twice": (
        lambda texts: [*texts[:91], texts[90], *texts[91:]],
        "sentence s91: faces sentence s90 in x, which stands there twice",
    ),
    "another order": (
        lambda texts: [*texts[:90], texts[91], texts[90], *texts[92:]],
        "sentence s90: faces sentence s91 in x: not the same sentences in order",
    ),
    "another word, twice": (
        lambda texts: [
            *texts[:90],
            with_word(texts[90]),
            *texts[91:150],
            with_word(texts[150]),
            *texts[151:],
        ],
        "sentence s90: word 1 is ",
    ),
    "another length": (
        lambda texts: [*texts[:90], texts[90][:-1] + "99\tx\t_\t_\t_\t_\t0\troot\t_\t_\n\n", *texts[91:]],
        "sentence s90",
    ),
}


def with_word(text: str) -> str:
    first, rest = text.split("\n1\t", 1)
    return f"{first}\n1\tWORD\t{rest.split(chr(9), 1)[1]}"


@pytest.mark.parametrize("case", list(MISMATCHES))
def test_the_first_sentence_that_does_not_match_is_named(
    case: str, gold: Texts, system: Texts, tmp_path: Path
) -> None:
    change, message = MISMATCHES[case]
    right = list_inputs([as_one_file(tmp_path / "gold", gold)])
    wrong = change(system)
    parsed = list_inputs([as_one_file(tmp_path / "system", wrong)])
    with pytest.raises(CovingtonError) as caught:
        tally(right, parsed, "x")
    assert message in str(caught.value)
    for cut in ({"block_bytes": BLOCK}, {"block_bytes": BLOCK, "stretch": STRETCH}):
        with pytest.raises(CovingtonError, match=r"sentence (s90|s91|s199|new5)\b"):
            tally(right, parsed, "x", **cut)


@pytest.mark.parametrize(
    ("case", "runners"), [("missing", ["threads"]), ("another word, twice", ["threads", "processes"])]
)
def test_errors_are_the_same_on_every_runner(
    case: str,
    runners: list[str],
    gold: Texts,
    system: Texts,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    right = as_one_file(tmp_path / "gold", gold)
    parsed = as_shards(9)(tmp_path / "system", MISMATCHES[case][0](system))
    assert main(["evaluate", right, parsed, "--name", "x"]) == 1
    expected = capfd.readouterr().err
    assert MISMATCHES[case][1] in expected
    assert expected.count("\n") == 1
    for runner in runners:
        assert main(["evaluate", right, parsed, "--name", "x", *RUNNERS[runner]]) == 1
        assert capfd.readouterr().err == expected


def test_a_sentence_that_two_shards_have_is_named(gold: Texts, system: Texts, tmp_path: Path) -> None:
    right = as_one_file(tmp_path / "gold", gold)
    batch = batch_of(system)
    for name, part in (("a", batch.slice(0, 120)), ("b", batch.slice(110))):
        (tmp_path / "system").mkdir(exist_ok=True)
        write_parquet([part], tmp_path / "system" / f"{name}.parquet")
    with pytest.raises(DataError, match=r"b\.parquet: sentence s110: is sentence 111 of .* stands twice"):
        tally(list_inputs([right]), list_inputs([str(tmp_path / "system")]))


def test_bad_sentences_and_files_are_named(
    gold: Texts, system: Texts, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    right = as_one_file(tmp_path / "gold", gold)
    bad = written(tmp_path / "bad.conllu", [*system[:20], "# sent_id = bad\n1\tno tabs\n\n", *system[21:]])
    cut = tmp_path / "cut.conllu.gz"
    cut.write_bytes(gzip.compress("".join(system).encode())[:-30])
    noise = tmp_path / "noise.parquet"
    noise.write_bytes(b"PAR1" + bytes(range(256)))
    nothing = written(tmp_path / "nothing.conllu", [])
    table = pa.Table.from_batches([batch_of(system)])
    pq.write_table(table.append_column("source", table.column("source")), tmp_path / "twice.parquet")
    for path, message in (
        (str(tmp_path / "twice.parquet"), "it has two columns 'source'"),
        (bad, "bad.conllu:"),
        (str(cut), "damaged or cut short"),
        (str(noise), "noise.parquet"),
        (nothing, "sentence s0: is missing in nothing"),
        (str(tmp_path / "nowhere"), "no such file or folder"),
        (str(tmp_path / "no*where"), "no file matches"),
    ):
        assert main(["evaluate", right, path]) == 1
        told = capfd.readouterr().err
        assert message in told and told.count("\n") == 1 and "Traceback" not in told
        assert main(["evaluate", right, path, "--threads", "2"]) == 1
        assert capfd.readouterr().err == told
    assert main(["evaluate", right, right, "--no-such-option"]) == 2
    assert main(["evaluate", nothing, nothing]) == 1
    assert "there are no sentences to compare" in capfd.readouterr().err
    headless = tmp_path / "headless.conllu"
    headless.write_text("\n".join(["1\ta\t_\tX" + 6 * "\t_", "2\tb\t_\tX" + 6 * "\t_", "", ""]))
    headed = tmp_path / "headed.conllu"
    headed.write_text("1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n2\tb\t_\tX\t_\t_\t1\tdep\t_\t_\n\n")
    for side, message in (
        ((headed, headless), "no word has a head"),
        ((headless, headed), "cannot serve as gold"),
    ):
        assert main(["evaluate", *map(str, side)]) == 1
        assert message in capfd.readouterr().err


def test_workers_that_cannot_reach_the_folder(
    gold: Texts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = list_inputs([as_one_file(tmp_path, gold)])
    monkeypatch.setattr("covington.pipelines.evaluate.keep", lambda tally, folder, number: None)
    with pytest.raises(CovingtonError, match="--temp_location"):
        EvaluateJob(files, [files], ["x"]).run(Runner(threads=1))


def test_the_plain_loop_does_not_wait_for_beam(gold: Texts, tmp_path: Path) -> None:
    path = as_one_file(tmp_path, gold)
    program = (
        "import sys; from covington.commands.cli import main; "
        "main(sys.argv[1:]); sys.exit('apache_beam' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program, "evaluate", path, path], check=True, capture_output=True)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_corpus(tmp_path: Path) -> None:
    """150 MB a side, plain against compressed: far less than both sides as Arrow."""
    text = Path(SAMPLE).read_bytes()
    times = (150 << 20) // len(text)
    plain_file, packed = tmp_path / "plain.conllu", tmp_path / "packed.conllu.gz"
    with plain_file.open("wb") as one, gzip.open(packed, "wb", compresslevel=1) as two:
        for _ in range(times):
            one.write(text)
            two.write(text)
    for pair in ((plain_file, packed), (plain_file, plain_file)):
        command = [sys.executable, "-m", "covington", "evaluate", *map(str, pair), "--json", "-"]
        program = (
            "import json, resource, subprocess, sys\n"
            "done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, check=True)\n"
            "system = json.loads(done.stdout)['systems'][0]\n"
            "print(json.dumps([system['sentences'], system['las'],"
            " resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss]))"
        )
        done = subprocess.run([sys.executable, "-c", program, *command], capture_output=True, check=True)
        found, las, kilobytes = json.loads(done.stdout)
        assert (found, las) == (42 * times, 100.0)
        assert kilobytes < 700 << 10, f"{kilobytes >> 10} MB"

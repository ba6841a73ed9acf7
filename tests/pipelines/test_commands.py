"""The commands: one file in order, streams, and errors of one sentence."""

from __future__ import annotations

import ast
import io
import json
import os
import pickle
import pty
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from apache_beam.options.pipeline_options import DirectOptions

import covington
from covington.base.machine import cores
from covington.commands.cli import main
from covington.corpus.parquet import tables as parquet
from covington.errors import CovingtonError, DataError, OptionError
from covington.pipelines.parse import ParseJob
from covington.pipelines.runner import Runner
from covington.pipelines.transforms import WriteSentences
from tests.support.sample import SAMPLE


def test_one_file_in_input_order(corpus: Path, small_model: str, tmp_path: Path) -> None:
    output = tmp_path / "out.conllu.gz"
    assert main(["parse", str(corpus), "-o", str(output), "--model", small_model, "--threads", "3"]) == 0
    parser = covington.Parser.load(small_model)
    wanted = [
        (row["sent_id"], row["head"], row["deprel"])
        for name in ("a.conllu", "b.conllu.gz", "c.conllu")
        for batch in covington.read_conllu(str(corpus / name), rejects=lambda batch: None)
        for row in parser.parse(batch).to_pylist()
    ]
    found = [
        (row["sent_id"], row["head"], row["deprel"])
        for batch in covington.read_conllu(str(output))
        for row in batch.to_pylist()
    ]
    assert found == wanted
    rejects = pq.read_table(f"{output}.rejects.parquet").to_pylist()
    assert [row["sent_id"] for row in rejects] == ["bad-9", "bad-19", "bad-29", "bad-39"]


def test_one_parquet_file(corpus: Path, small_model: str, tmp_path: Path) -> None:
    output = tmp_path / "out.parquet"
    assert main(["parse", str(corpus / "a.conllu"), "-o", str(output), "--model", small_model]) == 0
    table = pq.read_table(output)
    assert table.num_rows == 40 * 42
    assert table.column("position").to_pylist() == list(range(40 * 42))
    again = tmp_path / "again.conllu"
    assert main(["parse", str(output), "-o", str(again), "--model", small_model]) == 0


def test_streams(small_model: str) -> None:
    command = [sys.executable, "-m", "covington", "parse", "-", "-o", "-", "--model", small_model]
    done = subprocess.run(command, input=Path(SAMPLE).read_bytes(), capture_output=True, check=True)
    assert done.stderr == b""
    trees = list(covington.read_conllu(io.BytesIO(done.stdout)))
    assert sum(batch.num_rows for batch in trees) == 42


@pytest.mark.parametrize("chosen", [None, pa.supported_memory_backends()[0]])
def test_the_allocator_that_gives_memory_back_unless_another_is_chosen(chosen: str | None) -> None:
    name = "ARROW_DEFAULT_MEMORY_POOL"
    shown = "import pyarrow; print(pyarrow.default_memory_pool().backend_name)"
    environment = {key: value for key, value in os.environ.items() if key != name}
    if chosen:
        environment[name] = chosen
    command = [sys.executable, "-c", f"from covington.commands.cli import main; main(['info']); {shown}"]
    done = subprocess.run(command, env=environment, capture_output=True, check=True, text=True)
    assert done.stdout.split()[-1] == (chosen or "system")


WRONG_CALLS = [
    (["parse", "{sample}", "-o", "{out}", "--no-such-option", "3"], "unrecognized arguments"),
    (["parse", "{sample}", "-o", "{out}", "--runner=FlinkRunner", "{sample}"], "stands apart"),
    (["parse", "{sample}", "-o", "{out}", "--runner=FlinkRunner", "--streaming", "{sample}"], "stands apart"),
    (["parse", "{sample}", "-o", "{out}.conllu", "{sample}"], "stands apart"),
    (
        ["train", "{sample}", "-o", "{out}", "--runner=PortableRunner", "--job_endpoint=h:1", "b"],
        "b stands apart",
    ),
    (["parse", "{sample}", "-o", "{out}", "--direct_num_workers", "x"], "invalid int value"),
    (["parse", "{sample}", "-o", "{out}", "--threads", "-1"], "must be 0 (one per core) or more"),
    (
        ["parse", "{sample}", "-o", "{out}", "--threads", "2", "--direct_num_workers", "2"],
        "do not go together",
    ),
    (["parse", "{sample}", "-o", "{out}", "--threads", "2", "--runner", "PrismRunner"], "do not go together"),
    (["train", "{sample}", "-o", "{out}", "--threads", "2"], "--threads needs --shards"),
    (
        ["train", "{sample}", "-o", "{out}", "--without", "upos"],
        "what can be left out is xpos, feats, lemmas",
    ),
    (["parse", "{sample}", "-o", "{out}.conllu", "--runner", "DirectRunner"], "needs a folder"),
    (["parse", "-", "-o", "{out}"], "standard input can only be parsed to one file"),
    (["parse", "{sample}", "-o", "{out}", "--max-length", "0"], "max_length must be at least 1"),
    (["parse", "{sample}", "-o", "{sample}"], "is an input, so the output cannot go to"),
    (["parse", "{sample}", "-o", "{out}.conllu", "--no-such-option", "3"], "unrecognized arguments"),
    (["parse", "{sample}", "-o", "{out}", "--direct_num_workers", "-2"], "must be 0 or more"),
    (["parse", "{sample}", "-o", "{out}", "--runner", "NoRunner"], "cannot use the runner NoRunner"),
    (["parse", "{sample}", "-o", "{out}.txt"], "is not written as .txt"),
    (["parse", "{sample}", "-o", "{out}.conllu.zip"], "is not written as .zip"),
    (["parse", "{sample}", "-o", "{noise}"], "is a file"),
    (["parse", "{sample}", "-o", "{out}.conllu", "--rejects", "{sample}"], "is an input"),
    (["convert", "{sample}", "-o", "{out}.parquet", "--rejects", "{sample}"], "is an input"),
    (["evaluate", "{sample}", "{sample}", "--json", "{sample}"], "is an input"),
    (["evaluate", "{sample}", "{sample}", "--runner", "NoRunner"], "cannot use the runner NoRunner"),
    (["train", "{sample}", "-o", "{sample}"], "is an input"),
    (
        ["train", "{sample}", "-o", "{out}", "--dev", "{bad}", "--dev", "{sample}", "--runner", "NoRunner"],
        "NoRunner",
    ),
    (["train", "{sample}", "-o", "{empty}"], "is a folder"),
    (["train", "{sample}", "-o", "-"], "- is not the name of a file"),
    (["train", "{sample}", "-o", "{out}/"], "is not the name of a file"),
    (["parse", "{sample}", "-o", "/dev/null"], "-o - writes to standard output"),
    (["train", "{sample}", "-o", "{out}", "--keep", "best"], "give --dev"),
    (["train", "{sample}", "-o", "{out}", "--explore", "2"], "is not a probability"),
    (["train", "{sample}", "-o", "{out}", "--shards", "0"], "at least 1"),
    (["train", "{sample}", "-o", "{out}", "--shards", "100000000"], "at most 10,000"),
    (["evaluate", "{sample}", "{sample}", "--seed", "-1"], "--seed must be 0 or more"),
]
BAD_DATA = [
    (["parse", "nowhere.conllu", "-o", "{out}"], "nowhere.conllu: no such file or folder"),
    (["parse", "nowhere*.conllu", "-o", "{out}"], "no file matches"),
    (["parse", "nowhere.conllu", "-o", "{out}.conllu"], "nowhere.conllu: no such file or folder"),
    (["parse", "{empty}", "-o", "{out}"], "no CoNLL-U or Parquet file in this folder"),
    (["parse", "{sample}", "-o", "{out}", "--model", "nowhere.covington"], "no such model file"),
    (["parse", "{sample}", "-o", "{out}", "--model", "klingon"], "no bundled model is named klingon"),
    (["parse", "{sample}", "-o", "{out}", "--model", "{sample}"], "sample.conllu"),
    (["parse", "{bad}", "-o", "{out}", "--strict"], "sentence bad-9"),
    (["parse", "{bad}", "-o", "{out}.conllu", "--strict"], "sentence bad-9"),
    (["parse", "{noise}", "-o", "{out}"], "no sentence could be read"),
    (["parse", "nowhere://store/x.conllu", "-o", "{out}"], "nothing here reads nowhere://"),
    (["parse", "nowhere://store/x.conllu", "-o", "{out}.conllu"], "nothing here reads nowhere://"),
    (["parse", "{sample}", "-o", "nowhere://store/out"], "nothing here reads nowhere://"),
    (["parse", "{sample}", "-o", "nowhere://store/out.parquet"], "nothing here reads nowhere://"),
    (
        ["parse", "{sample}", "-o", "{out}", "--model", "nowhere://store/model"],
        "nothing here reads nowhere://",
    ),
    (["train", "nowhere://store/x.conllu", "-o", "{out}"], "nothing here reads nowhere://"),
    (["train", "{sample}", "-o", "nowhere://store/model"], "nothing here reads nowhere://"),
    (["evaluate", "{sample}", "nowhere://store/x.conllu"], "nothing here reads nowhere://"),
    (["parse", "{latin}", "-o", "{out}"], "its name is not in UTF-8"),
    (["parse", "{latin}", "-o", "{out}.conllu"], "its name is not in UTF-8"),
    (["parse", "/dev/null", "-o", "{out}.conllu"], "a stream is read as standard input"),
    (["train", "{sample}", "-o", "{out}", "--dev", "{nothing}"], "no sentences to score the model on"),
    (["parse", "{broken}", "-o", "{out}"], "damaged or cut short"),
    (["parse", "{sample}", "-o", "/proc/nobody/can/write/here"], "/proc"),
    (["parse", "{sample}", "-o", "/proc/nobody/can.conllu"], "/proc"),
    (["train", "nowhere.conllu", "-o", "{out}"], "no such file or folder"),
    (["train", "{bad}", "-o", "{out}"], "sentence bad-9"),
    (["train", "{bad}", "-o", "{out}", "--shards", "2"], "sentence bad-9"),
]


@pytest.mark.parametrize(
    ("call", "message", "code"), [(*one, 2) for one in WRONG_CALLS] + [(*one, 1) for one in BAD_DATA]
)
def test_errors_are_one_sentence(
    call: list[str],
    message: str,
    code: int,
    corpus: Path,
    small_model: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "nothing").touch()
    latin = os.fsdecode(os.fsencode(tmp_path) + b"/\xe4.conllu")
    Path(latin).write_bytes(Path(SAMPLE).read_bytes())
    (tmp_path / "noise").write_bytes(bytes(range(256)) * 40)
    (tmp_path / "broken").write_bytes((corpus / "b.conllu.gz").read_bytes()[:-50])
    names = {
        "sample": str(tmp_path / "sample.conllu"),
        "bad": str(corpus / "c.conllu"),
        "out": str(tmp_path / "out"),
        "latin": latin,
        **{name: str(tmp_path / name) for name in ("empty", "noise", "broken", "nothing")},
    }
    (tmp_path / "sample.conllu").write_bytes(Path(SAMPLE).read_bytes())
    arguments = [part.format(**names) for part in call]
    if call[0] == "parse" and "--model" not in call:
        arguments += ["--model", small_model]
    assert main(arguments) == code
    _, errors = capfd.readouterr()
    assert message in errors
    last = errors.strip().splitlines()[-1]
    assert last.startswith("covington: ")
    assert "Traceback" not in errors
    assert len(errors.strip().splitlines()) <= 4  # a summary may stand before it


def test_what_an_engine_answers_is_one_sentence() -> None:
    from covington.pipelines.runner import understood

    silent = (
        '<_InactiveRpcError of RPC that terminated with:\n\tstatus = StatusCode.INTERNAL\n\tdetails = ""\n>'
    )
    assert str(understood(RuntimeError(silent))).startswith("the job server answered INTERNAL")
    told = silent.replace('details = ""', 'details = "no such job"')
    assert "no such job" in str(understood(RuntimeError(told)))
    java = (
        "Pipeline x failed in state FAILED: " + 2 * "org.apache.beam.v1p60p1.io.grpc.StatusRuntimeException: "
    )
    assert "FAILED: StatusRuntimeException: CANCELLED (-v" in str(
        understood(RuntimeError(java + "CANCELLED"))
    )


def test_the_summary_says_what_is_missing_and_why(
    corpus: Path, small_model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for output in ("out", "out.conllu"):
        call = ["parse", str(corpus / "c.conllu"), "-o", str(tmp_path / output), "--model", small_model]
        assert main([*call, "--max-length", "5"]) == 0
        _, unparsed, rejects, first = capsys.readouterr().err.splitlines()
        assert unparsed.endswith("sentences of more than 5 words came out without a tree")
        assert rejects.startswith("4 sentences could not be read: see ")
        assert (
            first
            == f"the first of them: {corpus}/c.conllu:{_line_of_first_bad(corpus)}: sentence bad-9: {REASON}"
        )


REASON = "expected 10 columns separated by tabs, found 3"


def _line_of_first_bad(corpus: Path) -> int:
    lines = (corpus / "c.conllu").read_text().splitlines()
    return lines.index("# sent_id = bad-9") + 2


def test_a_training_that_has_learnt_nothing_is_not_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "bad.conllu").write_text("# sent_id = bad\n1\tno tabs\n\n")
    model = str(tmp_path / "m.covington")
    assert main(["train", str(tmp_path / "bad.conllu"), "-o", model, "--epochs", "1"]) == 1
    assert main(["train", SAMPLE, "-o", model, "--epochs", "1"]) == 0


def test_a_folder_of_results_is_not_filled_twice(tmp_path: Path) -> None:
    import apache_beam as beam

    from covington.pipelines import ReadSentences, WriteSentences

    folder = tmp_path / "out"
    with beam.Pipeline(runner="FnApiRunner") as pipeline:
        _ = pipeline | ReadSentences(Path(SAMPLE)) | WriteSentences(str(folder))
    assert sorted(path.name for path in folder.glob("[!_]*")) == ["shard-00000-of-00001.parquet"]
    with pytest.raises(OptionError, match="holds the results of another job"):
        WriteSentences(str(folder))


@pytest.mark.parametrize(
    ("call", "closed", "code", "told"),
    [
        ("parse - -o {out}.conllu", "<&-", 2, "covington: standard input is closed\n"),
        ("parse {sample} -o -", ">&-", 2, "covington: standard output is closed\n"),
        ("convert {sample} -o -", ">&-", 2, "covington: standard output is closed\n"),
        ("parse {sample} -o {out}.conllu", "2>&-", 0, ""),
        ("parse {sample} -o {out}", "2>&-", 0, ""),
        ("train {sample} -o {out}.covington --epochs 1", "2>&-", 0, ""),
    ],
)
def test_closed_descriptors(
    call: str, closed: str, code: int, told: str, small_model: str, tmp_path: Path
) -> None:
    text = call.format(sample=shlex.quote(SAMPLE), out=shlex.quote(str(tmp_path / "out")))
    model = f" --model {shlex.quote(small_model)}" if call.startswith("parse") else ""
    command = f"{shlex.quote(sys.executable)} -m covington {text}{model} {closed}"
    found = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (code, told)
    assert bool(list(tmp_path.iterdir())) == (code == 0)


def _more(number: signal.Signals, threads: int) -> object:
    return pytest.param(number, threads, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("number", "threads"),
    [
        (signal.SIGINT, 0),
        (signal.SIGTERM, 1),
        *(_more(one, 0) for one in (signal.SIGTERM, signal.SIGHUP)),
        *(_more(one, 1) for one in (signal.SIGINT, signal.SIGHUP)),
    ],
)
def test_a_job_that_is_stopped_ends_at_once(
    number: signal.Signals, threads: int, corpus: Path, small_model: str, tmp_path: Path
) -> None:
    big = tmp_path / "big.conllu"
    big.write_bytes((corpus / "a.conllu").read_bytes() * 60)
    arguments = ["parse", str(big), "-o", str(tmp_path / "out"), "--model", small_model]
    arguments += ["--threads", str(threads)]
    # A shell without job control has its background commands ignore the signal, and they hand that down. The command
    # itself puts that right: with `preexec_fn` this process would be forked, and gRPC's threads in the fork complain.
    heeding = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from covington.commands.cli import main
sys.exit(main())
"""
    call = [sys.executable, "-c", heeding, *arguments]
    with subprocess.Popen(call, stderr=subprocess.PIPE, text=True) as command:
        work = tmp_path / "out" / "_work"
        while command.poll() is None and not list(work.glob("done-*")):
            time.sleep(0.05)
        command.send_signal(number)
        _, told = command.communicate()
    assert (command.returncode, told) == (128 + number, "covington: stopped\n")
    assert main(arguments) == 0
    assert pq.read_table(tmp_path / "out", columns=["position"]).num_rows == 60 * 40 * 42


@pytest.mark.slow
@pytest.mark.parametrize("output", ["out", "out.conllu"])
def test_a_job_ends_with_its_terminal(output: str, corpus: Path, small_model: str, tmp_path: Path) -> None:
    """Though nothing can be written to it any longer, the bar neither."""
    big = tmp_path / "big.conllu"
    big.write_bytes((corpus / "a.conllu").read_bytes() * 120)
    words = [sys.executable, "-m", "covington", "parse", big, "-o", tmp_path / output, "--model", small_model]
    command = " ".join(shlex.quote(str(word)) for word in words)
    master, slave = pty.openpty()
    terminal = os.ttyname(slave)
    # the leader of a session has the first terminal that it opens, and is told when it closes
    with subprocess.Popen(
        ["sh", "-c", f"exec {command} < {terminal} > {terminal} 2>&1"], start_new_session=True
    ) as job:
        assert b"parsing" in os.read(master, 1000)
        os.close(slave)
        os.close(master)
        assert job.wait(30) == 128 + signal.SIGHUP
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".part")]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stream_that_is_stopped_leaves_nothing(
    number: signal.Signals, small_model: str, tmp_path: Path
) -> None:
    heeding = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
    call = f"{heeding} from covington.commands.cli import main; sys.exit(main())"
    arguments = ["parse", "-", "-o", str(tmp_path / "out.conllu"), "--model", small_model]
    with subprocess.Popen(
        [sys.executable, "-c", call, *arguments], stdin=subprocess.PIPE, stderr=subprocess.PIPE
    ) as command:
        assert command.stdin is not None
        while command.poll() is None and not list(tmp_path.iterdir()):  # it waits for more of its input
            time.sleep(0.05)
        command.send_signal(number)
        assert command.wait() == 128 + number
        assert command.stderr is not None and command.stderr.read() == b"covington: stopped\n"
    assert not list(tmp_path.iterdir())


def test_a_signal_that_the_caller_ignores_stays_ignored() -> None:
    """As nohup has it."""
    code = (
        "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "from covington.base.signals import stopping\n"
        "with stopping(): signal.raise_signal(signal.SIGHUP)\n"
        "assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_as_many_cores_as_the_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {5, 7, 11}, raising=False)
    assert Runner().options.view_as(DirectOptions).direct_num_workers == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    assert cores() == os.cpu_count()


def test_standard_output_is_blamed_for_its_own_failures(
    corpus: Path, small_model: str, tmp_path: Path
) -> None:
    """And not the file of rejects, which is open meanwhile."""
    rejects = tmp_path / "rejects.parquet"
    call = ["parse", str(corpus / "c.conllu"), "-o", "-", "--rejects", str(rejects), "--model", small_model]
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "covington", *call]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "covington: standard output: No space left on device\n")
    assert not rejects.exists()


def test_the_first_reject_is_one_of_ours(corpus: Path, small_model: str, tmp_path: Path) -> None:
    """Whatever else somebody has put beside the rejects."""
    out = tmp_path / "out"
    (out / "_rejects").mkdir(parents=True)
    (out / "_rejects" / ".DS_Store").write_bytes(b"of a file manager")
    call = ["parse", str(corpus / "c.conllu"), "-o", str(out), "--model", small_model, "--overwrite"]
    assert main(call) == 0


def _killed(*_: object) -> None:
    raise CovingtonError("killed")


def test_shards_that_are_gone_or_changed_are_made_again(
    corpus: Path, small_model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = ["parse", str(corpus), "-o", str(tmp_path / "out"), "--model", small_model]
    assert main(call) == 0
    right = {path.name: path.read_bytes() for path in (tmp_path / "out").glob("shard-*")}
    out = tmp_path / "out"
    # as a job leaves it that was killed before its end
    with monkeypatch.context() as patch:
        patch.setattr("covington.pipelines.parse.close_folder", _killed)
        assert main([*call, "--overwrite"]) == 1
    names = sorted(right)
    (out / names[0]).unlink()
    (out / names[1]).write_bytes(b"junk")
    assert main(call) == 0
    assert {path.name: path.read_bytes() for path in out.glob("shard-*")} == right


def test_a_job_whose_folder_was_taken_says_so(
    corpus: Path,
    small_model: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    call = ["parse", str(corpus), "-o", str(tmp_path / "out"), "--model", small_model]
    job = tmp_path / "out" / "_work" / "job.json"
    write = parquet.write_to

    def taken(*arguments: object) -> None:
        job.write_text(job.read_text().replace('"job": "', '"job": "other'))
        write(*arguments)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(parquet, "write_to", taken)
        assert main(call) == 1
    assert "another job has taken" in capsys.readouterr().err
    assert not (tmp_path / "out" / "_summary.json").exists()


def test_an_interrupt_inside_a_worker_stops_the_job(
    small_model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("covington.pipelines.transforms.parse_shard", interrupted)
    job = ParseJob([SAMPLE], str(tmp_path / "out"), small_model)
    with pytest.raises(KeyboardInterrupt):
        job.run(Runner(threads=1))


def test_two_transforms_do_not_fill_one_folder(tmp_path: Path) -> None:
    import apache_beam as beam

    from covington.pipelines import ReadSentences, WriteSentences

    pipeline = beam.Pipeline(runner="FnApiRunner")
    for name in "ab":
        (tmp_path / name).symlink_to("out")
    _ = pipeline | "1" >> ReadSentences(SAMPLE) | "w1" >> WriteSentences(tmp_path / "a")
    with pytest.raises(OptionError, match="two transforms of one pipeline"):
        _ = pipeline | "2" >> ReadSentences(SAMPLE) | "w2" >> WriteSentences(tmp_path / "b")


def test_names_may_be_paths(tmp_path: Path) -> None:
    from covington import models
    from covington.pipelines import CovingtonModelHandler, ParseSentences

    assert ParseSentences(models.path("en_ewt"))._pinned.checksum == covington.Parser.load("en_ewt").checksum
    CovingtonModelHandler(models.path("en_ewt"))


WITHOUT_PANDAS = """
import sys
sys.modules["pandas"] = None
import covington.parsing.parser
print("numpy.ma" in sys.modules)
"""


def test_what_numpy_loads_lazily_is_there_before_threads_ask_for_it() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_PANDAS], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_what_conllu_cannot_hold_is_rejected(
    small_model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A table may have line breaks: in the text they are spaces, in a word nothing can be done."""
    (batch,) = covington.read_conllu(SAMPLE)
    rows = batch.slice(0, 3).to_pylist()
    rows[0]["text"] = "one\ntwo"
    rows[1]["tokens"][0] = "\n"
    table = tmp_path / "odd.parquet"
    pq.write_table(pa.Table.from_pylist(rows, schema=batch.schema), table)
    reason = "cannot be written as CoNLL-U: a value holds a tab or a line break"
    for output, rejects in (
        ("out.conllu", "out.conllu.rejects.parquet"),
        ("out", "out/_rejects/shard-00000-of-00001.parquet"),
    ):
        call = ["parse", str(table), "-o", str(tmp_path / output), "--model", small_model]
        call += ["--format", "conllu"]
        assert main(call) == 0
        assert reason in capsys.readouterr().err
        (read,) = [*covington.read_sentences(tmp_path / output)]
        assert read.column("text").to_pylist() == ["one two", rows[2]["text"]]
        (reject,) = pq.read_table(tmp_path / rejects).to_pylist()
        assert (reject["reason"], reject["sent_id"], reject["position"]) == (reason, rows[1]["sent_id"], 1)
        assert json.loads(reject["raw"])["tokens"][0] == "\n"
        assert main([*call, "--strict", "--overwrite"]) == 1
        assert reason in capsys.readouterr().err
    assert main(["convert", str(table), "-o", str(tmp_path / "converted.conllu")]) == 0
    assert reason in capsys.readouterr().err
    assert main(["convert", str(table), "-o", str(tmp_path / "converted.conllu"), "--strict"]) == 1
    whole = tmp_path / "whole.parquet"
    assert main(["parse", str(table), "-o", str(whole), "--model", small_model]) == 0
    assert pq.read_table(whole).column("tokens").to_pylist() == [row["tokens"] for row in rows]


def test_standard_output_has_its_say_too(
    small_model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Sentences that were left without a tree, and what is wrong with those that could not be read."""
    text = tmp_path / "text.conllu"
    text.write_text(Path(SAMPLE).read_text(encoding="utf-8") + "# sent_id = bad\n1\tx\n\n", encoding="utf-8")
    assert main(["parse", str(text), "-o", "-", "--model", small_model, "--max-length", "3"]) == 0
    told = capsys.readouterr().err
    assert "of more than 3 words came out without a tree" in told
    assert "the first of them:" in told and "sentence bad: expected 10 columns" in told


def test_a_format_that_a_file_has_anyway_may_be_named(small_model: str, tmp_path: Path) -> None:
    for name, format in (("a.conllu.gz", "conllu"), ("a.parquet", "parquet")):
        call = ["parse", str(SAMPLE), "-o", str(tmp_path / name), "--model", small_model, "--format", format]
        assert main(call) == 0


def test_a_wildcard_passes_over_what_a_folder_does(small_model: str, corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert main(["parse", str(corpus), "-o", str(out), "--model", small_model]) == 0
    assert (out / "_rejects").is_dir()
    assert main(["convert", str(out / "**" / "*.parquet"), "-o", str(tmp_path / "all.conllu")]) == 0
    assert main(["convert", str(out), "-o", str(tmp_path / "folder.conllu")]) == 0
    assert (tmp_path / "all.conllu").read_bytes() == (tmp_path / "folder.conllu").read_bytes()


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("parse file:///x.conllu -o y.conllu", "named by its path, without file://"),
        ("evaluate x y --name \udcff --html z.html", "not in UTF-8"),
        ("compare x --system ''", "not a folder"),
    ],
)
def test_odd_names(call: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(shlex.split(call)) in (1, 2)
    assert told in capsys.readouterr().err


def test_no_memory_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def nothing_left(*_: object) -> None:
        raise MemoryError("no memory for a sentence")

    monkeypatch.setattr("covington.commands.info.run", nothing_left)
    assert main(["info"]) == 1
    assert capsys.readouterr().err == "covington: there is not enough memory\n"


def test_the_names_for_those_who_check_types_are_all_there() -> None:
    import covington.pipelines as public

    source = ast.parse(Path(public.__file__).read_text(encoding="utf-8"))
    (block,) = [node for node in source.body if isinstance(node, ast.If)]
    imported = {
        alias.asname: part.module
        for part in block.body
        if isinstance(part, ast.ImportFrom)
        for alias in part.names
    }
    assert imported == {name: f"covington.{home}" for name, home in public._HOMES.items()}


def test_errors_of_a_job_can_be_sent_on() -> None:
    """Whoever runs a job in another process wants its error back."""
    from covington.pipelines.runner import understood

    error = understood(DataError("it has no words", source="a.conllu", line=3))
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is DataError and str(again) == str(error) == "a.conllu:3: it has no words"


def test_a_relative_folder_is_one_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert WriteSentences("out").folder == str(tmp_path / "out")

"""Faults of processes on one machine: the command killed, a worker process killed."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

from tests.faults.bench import Bench, Command, Row
from tests.faults.inputs import NOTHING
from tests.pipelines.conftest import SAMPLE
from tests.pipelines.test_parse import files

PROCESSES = ("--direct_running_mode", "multi_processing", "--direct_num_workers", "2")


def workers(command: Command) -> list[int]:
    """The worker processes of a command."""
    listed = subprocess.run(("ps", "-ww", "-eo", "pid,sid,args"), capture_output=True, text=True, check=True)
    rows = [line.split(None, 2) for line in listed.stdout.splitlines()[1:]]
    return [
        int(pid)
        for pid, session, call in rows
        if int(session) == command.pid and "sdk_worker_main" in call and "sh -c" not in call
    ]


def the_command_is_killed(bench: Bench) -> Row:
    wanted = bench.make_corpus().expected()
    command = bench.parse(*PROCESSES)
    assert command.when(bench.begun, command.kill).done().code == -signal.SIGKILL
    there = bench.shards()
    assert bench.parse(*PROCESSES).done().code == 0
    assert files(bench.output) == wanted
    happened = f"{there} of {bench.count} shards were done and kept; the same command went on"
    return Row("kill -9 of the command and its workers during a parse", happened, NOTHING, bench.counts())


def a_worker_is_killed(bench: Bench) -> Row:
    wanted = bench.make_corpus().expected()
    command = bench.parse(*PROCESSES)

    def act() -> None:
        os.kill(workers(command)[0], signal.SIGKILL)

    done = command.when(bench.begun, act).done()
    assert done.code == 1 and "a worker process ended" in done.sentence, done
    there = bench.shards()
    assert bench.parse(*PROCESSES).done().code == 0
    assert files(bench.output) == wanted
    happened = f"ended with 1: “{done.sentence}”; {there} of {bench.count} shards were done and kept"
    return Row("kill -9 of a worker process during a parse", happened, NOTHING, bench.counts())


def training_is_killed(bench: Bench) -> Row:
    bench.folder.mkdir(parents=True, exist_ok=True)
    corpus = bench.folder / "train.conllu"
    corpus.write_bytes(Path(SAMPLE).read_bytes() * 20)
    call = ("train", corpus, "--dev", SAMPLE, "--epochs", "5", "--shards", "3", *PROCESSES)
    assert Command((*call, "-o", bench.folder / "whole")).done().code == 0
    command = Command((*call, "-o", bench.folder / "half"))
    record = bench.folder / "half.training" / "epoch-00002.json"
    command.when(record.exists, command.kill).done()
    assert not (bench.folder / "half").exists()
    assert Command((*call, "-o", bench.folder / "half")).done().code == 0
    assert (bench.folder / "half").read_bytes() == (bench.folder / "whole").read_bytes()
    happened = "the same command went on after the last complete epoch"
    return Row(
        "kill -9 of the command and its workers during training",
        happened,
        NOTHING,
        "the model has the same bytes",
    )


FAULTS = (the_command_is_killed, a_worker_is_killed, training_is_killed)

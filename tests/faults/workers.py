"""Faults of processes on one machine: the command killed, a worker process killed."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

from tests.faults.bench import Bench, Command, Row
from tests.faults.inputs import NOTHING
from tests.support.folders import results
from tests.support.sample import SAMPLE

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


def no_worker_is_left(command: Command) -> None:
    """The workers that were not killed end with the command; alone they would need two minutes."""
    for _ in range(30):
        if not workers(command):
            return
        time.sleep(0.1)
    raise AssertionError("workers were left behind")


def _killed(bench: Bench, fault: str, *flags: str) -> Row:
    """The command is killed when the first shards are there; started again, it keeps what is done."""
    wanted = bench.make_corpus().expected()
    command = bench.parse(*flags)
    assert command.when(bench.begun, command.kill).done().code == -signal.SIGKILL
    there = bench.shards()
    assert 1 <= there < bench.count and not (bench.output / "_summary.json").exists()
    times = {path: path.stat().st_mtime_ns for path in bench.output.glob("shard-*")}
    assert bench.parse(*flags).done().code == 0
    assert results(bench.output) == wanted
    kept = sum(path.stat().st_mtime_ns == at for path, at in times.items())
    assert kept >= there - 4  # those that were written but not yet marked are written again
    happened = f"{there} of {bench.count} shards were done and kept; the same command went on"
    return Row(fault, happened, NOTHING, bench.counts())


def the_command_is_killed(bench: Bench) -> Row:
    return _killed(bench, "kill -9 of the command and its workers during a parse", *PROCESSES)


def a_command_with_threads_is_killed(bench: Bench) -> Row:
    return _killed(bench, "kill -9 of a command that parses with threads", "--threads", "2")


def a_worker_is_killed(bench: Bench) -> Row:
    wanted = bench.make_corpus().expected()
    command = bench.parse(*PROCESSES)

    def act() -> None:
        os.kill(workers(command)[0], signal.SIGKILL)

    done = command.when(bench.begun, act).done()
    assert done.code == 1 and done.sentence.startswith("a worker process ended"), done
    there = bench.shards()
    no_worker_is_left(command)
    assert bench.parse(*PROCESSES).done().code == 0
    assert results(bench.output) == wanted
    happened = f"ended with 1: “{done.sentence}”; {there} of {bench.count} shards were done and kept"
    return Row("kill -9 of a worker process during a parse", happened, NOTHING, bench.counts())


def training_is_killed(bench: Bench) -> Row:
    """First the command and its workers, then, when it has gone on, one of the workers."""
    bench.folder.mkdir(parents=True, exist_ok=True)
    corpus, half = bench.folder / "train.conllu", bench.folder / "half"
    corpus.write_bytes(Path(SAMPLE).read_bytes() * 20)
    call = ("train", corpus, "--dev", SAMPLE, "--epochs", "6", "--shards", "3", *PROCESSES)
    assert Command((*call, "-o", bench.folder / "whole")).done().code == 0

    command = Command((*call, "-o", half))
    command.when((bench.folder / "half.training" / "epoch-00002.json").exists, command.kill).done()
    assert not half.exists()

    command = Command((*call, "-o", half))

    def act() -> None:
        os.kill(workers(command)[0], signal.SIGKILL)

    done = command.when((bench.folder / "half.training" / "epoch-00004.json").exists, act).done()
    assert done.code == 1 and "a worker process ended" in done.said and not half.exists(), done
    no_worker_is_left(command)

    done = Command((*call, "-o", half)).done()
    assert done.code == 0 and done.said.startswith("epoch 1 "), done
    assert half.read_bytes() == (bench.folder / "whole").read_bytes()
    assert not (bench.folder / "half.training").exists()
    return Row(
        "kill -9 of the command and its workers during training, then of one worker",
        "each time the same command went on after the last complete epoch",
        NOTHING,
        "the model has the same bytes",
    )


FAULTS = (the_command_is_killed, a_command_with_threads_is_killed, a_worker_is_killed, training_is_killed)

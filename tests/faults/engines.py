"""Faults of an engine: a TaskManager of a Flink cluster killed, a pool of workers killed."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from tests.engines import fetch
from tests.engines.servers import Cluster, JobServer, Pool, free_port
from tests.faults.bench import Bench, Command, Row
from tests.faults.inputs import NOTHING, short
from tests.support.folders import results
from tests.support.sample import SAMPLE


@dataclass
class Engine:
    """A Flink cluster of two TaskManagers, and a job server."""

    folder: Path

    def __post_init__(self) -> None:
        flink, self.python = fetch.flink(), fetch.wheel()
        self.cluster = Cluster(flink, self.python, self.folder / "cluster")
        self.server = JobServer(flink, self.folder / "job-server")

    def stop(self) -> None:
        self.server.kill()
        self.cluster.stop()

    @property
    def on_cluster(self) -> tuple[str, ...]:
        return (*self._flags, self.cluster.master, "--parallelism=2", *self.cluster.external)

    def embedded(self, pool: str) -> tuple[str, ...]:
        workers = ("--environment_type=EXTERNAL", f"--environment_config={pool}")
        return (*self._flags, "--flink_master=[local]", "--parallelism=2", *workers)

    @property
    def _flags(self) -> tuple[str, ...]:
        return ("--runner=FlinkRunner", f"--job_endpoint={self.server.address}")


def a_task_manager_is_killed(bench: Bench, engine: Engine) -> Row:
    wanted = bench.make_corpus().expected()
    engine.cluster.mend()
    command = bench.parse(*engine.on_cluster)
    done = command.when(bench.begun, lambda: engine.cluster.kill_task_manager(1)).done()
    assert done.code == 0, done
    assert engine.cluster.overview()["taskmanagers"] == 1
    assert results(bench.output) == wanted
    happened = "one TaskManager was left; the command ended with 0, all files have the same bytes"
    fault = "Flink: a TaskManager and its workers are killed during a parse"
    return Row(fault, happened, NOTHING, bench.counts())


def a_task_manager_is_killed_in_training(bench: Bench, engine: Engine) -> Row:
    bench.folder.mkdir(parents=True, exist_ok=True)
    corpus = bench.folder / "train.conllu"
    corpus.write_bytes(Path(SAMPLE).read_bytes() * 20)
    call = ("train", corpus, "--dev", SAMPLE, "--epochs", "4", "--shards", "3")
    assert Command((*call, "-o", bench.folder / "whole", "--threads", "1")).done().code == 0
    engine.cluster.mend()
    record = bench.folder / "lost.training" / "epoch-00001.json"
    command = Command((*call, "-o", bench.folder / "lost", *engine.on_cluster))
    done = command.when(record.exists, lambda: engine.cluster.kill_task_manager(1)).done()
    assert done.code == 0, done
    assert (bench.folder / "lost").read_bytes() == (bench.folder / "whole").read_bytes()
    happened = "one TaskManager was left; the command ended with 0"
    fault = "Flink: a TaskManager and its workers are killed during training"
    return Row(fault, happened, NOTHING, "the model has the same bytes")


def a_pool_is_killed(bench: Bench, engine: Engine) -> Row:
    wanted = bench.make_corpus().expected()
    engine.cluster.mend()

    def act() -> None:
        engine.cluster.kill_pool(2)
        time.sleep(2)
        engine.cluster.start_pool(2)

    done = bench.parse(*engine.on_cluster).when(bench.begun, act).done()
    assert done.code == 0, done
    assert results(bench.output) == wanted
    happened = "the pool was back two seconds later; the command ended with 0, all files have the same bytes"
    return Row("Flink: a pool of workers is killed during a parse", happened, NOTHING, bench.counts())


def a_pool_is_killed_for_good(bench: Bench, engine: Engine) -> Row:
    wanted = bench.make_corpus().expected()
    address = f"127.0.0.1:{free_port()}"
    pool = Pool(engine.python, address, bench.folder / "pool-1.log")
    done = bench.parse(*engine.embedded(address)).when(bench.begun, pool.kill).done()
    assert done.code == 1 and done.sentence, done
    there = bench.shards()
    pool = Pool(engine.python, address, bench.folder / "pool-2.log")
    assert bench.parse(*engine.embedded(address)).done().code == 0
    pool.kill()
    assert results(bench.output) == wanted
    happened = f"ended with 1: “{short(done.sentence)}”; {there} of {bench.count} shards were done and kept;"
    fault = "Flink without restarts: the only pool of workers is killed during a parse"
    return Row(fault, f"{happened} with a new pool, the same command went on", NOTHING, bench.counts())


FAULTS = (
    a_task_manager_is_killed,
    a_task_manager_is_killed_in_training,
    a_pool_is_killed,
    a_pool_is_killed_for_good,
)

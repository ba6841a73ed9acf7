"""The training pipeline: iterative parameter mixing, the epochs one after the other in a graph.

Only shard indices pass from step to step; weights are files.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import apache_beam as beam

from covington.engine.epochs import Training, told
from covington.errors import CovingtonError, JobError, OptionError
from covington.files.listing import is_local
from covington.learning.training import EpochReport
from covington.pipelines.runner import Runner
from covington.pipelines.transforms import take_folder


@dataclass(eq=False)
class TrainParser(beam.PTransform):  # type: ignore[misc]
    """A Training → a PCollection with the facts about the epoch whose model was kept.

    The files between epochs stay in `MODEL.training` until the next training of the model, or until they are deleted.

    >>> import tempfile
    >>> import apache_beam as beam
    >>> from covington import models
    >>> from covington.pipelines import Training, TrainParser
    >>> from covington.model.options import TrainingOptions
    >>> model = tempfile.mkdtemp() + "/small.covington"
    >>> work = Training((str(models.sample()),), model, options=TrainingOptions(epochs=2), shards=2)
    >>> with beam.Pipeline(runner="FnApiRunner") as pipeline:
    ...     _ = pipeline | TrainParser(work) | beam.Map(lambda facts: print(facts["epoch"]))
    2
    """

    work: Training

    def __post_init__(self) -> None:
        super().__init__()
        if self.work.options.epochs > MOST_EPOCHS:
            raise OptionError(
                f"Beam takes no graph of more than {MOST_EPOCHS} epochs; TrainJob makes several graphs"
            )

    def expand(self, pipeline: beam.Pipeline) -> beam.PCollection[dict[str, Any]]:
        take_folder(pipeline, self.work.folder)
        self.work.begin()  # what an earlier training has left decides what is to be done
        epochs = pipeline | _TrainEpochs(self.work, self.work.options.epochs)
        return epochs | "KeepModel" >> beam.Map(lambda _, work: work.keep_model(), self.work)


MOST_EPOCHS = 100  # Beam goes through a graph by recursion, and Python allows no more


@dataclass(eq=False)
class _TrainEpochs(beam.PTransform):  # type: ignore[misc]
    """The epochs that are not complete yet, up to the last one wanted."""

    work: Training
    last: int

    def __post_init__(self) -> None:
        super().__init__()

    def expand(self, pipeline: beam.Pipeline) -> beam.PCollection[None]:
        work = self.work
        epoch_is_over = pipeline | "Begin" >> beam.Create([None]) | "LookAtCorpus" >> beam.Map(_look, work)
        for epoch in range(len(work.records()) + 1, self.last + 1):
            epoch_is_over = (
                epoch_is_over
                | f"DealOut{epoch}" >> beam.FlatMap(_deal_out, work.shards)
                | f"ShareOut{epoch}" >> beam.GroupByKey()
                | f"TrainShard{epoch}" >> beam.Map(_train, work, epoch)
                | f"BringTogether{epoch}" >> beam.GroupByKey()
                | f"MixWeights{epoch}" >> beam.Map(_mix, work, epoch)
            )
        return epoch_is_over


def _look(_: None, work: Training) -> None:
    work.check_job()
    work.look()


def _deal_out(_: None, shards: int) -> Iterator[tuple[int, None]]:
    """Shards as keys, which engines share out among workers; Reshuffle would take four more steps in every epoch."""
    return ((shard, None) for shard in range(shards))


def _train(
    dealt: tuple[int, Iterable[None]], work: Training, epoch: int
) -> tuple[int, tuple[int, EpochReport | None]]:
    shard, _ = dealt
    return 0, (shard, work.train_part(epoch, shard))


def _mix(trained: tuple[int, Sequence[tuple[int, EpochReport | None]]], work: Training, epoch: int) -> None:
    reports = trained[1]
    work.finish_epoch(epoch, [report for _, report in sorted(reports, key=lambda one: one[0]) if report])


@dataclass(frozen=True)
class TrainJob:
    """A training, where to run it, and whom to tell."""

    work: Training
    runner: Runner | None = None  # None is this process without Beam; it can have one shard alone
    overwrite: bool = False

    def run(self, tell: Callable[[dict[str, Any]], object] = lambda record: None) -> dict[str, Any]:
        """Train to the end; `tell` gets the facts about every epoch, also of those that were done before."""
        if self.runner is None:
            return self.work.run_plain(tell, self.overwrite)
        self.runner.check()
        self.work.begin(self.overwrite)
        epochs = self.work.options.epochs
        with self.work.clearing_up_a_false_start(), _Watch(self.work, tell):
            while (done := len(self.work.records())) < epochs and not self.work.has_stopped(done + 1):
                part = _TrainEpochs(self.work, min(done + MOST_EPOCHS, epochs))
                self.runner.run(lambda pipeline, part=part: pipeline | part)  # type: ignore[misc]
                if len(self.work.records()) == done:
                    raise JobError(f"the job is over, but {self.work.folder} has no more epochs than before")
            self.work.keep_model()  # also if nobody could be told
        return self.work.finish()


class _Watch:
    """Looks for the records of complete epochs, on whatever machine they were made, and tells of them."""

    def __init__(self, work: Training, tell: Callable[[dict[str, Any]], object]) -> None:
        self._work, self._tell = work, tell
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._pause = 0.05 if is_local(work.folder) else 10.0  # seconds
        self._told = 0
        self._error: Exception | None = None  # in telling

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        if self._error is not None and kind is None:
            raise self._error

    def _look(self) -> None:
        over = False
        while not over and self._error is None:
            over = self._stop.wait(self._pause)
            self._tell_what_is_new()

    def _tell_what_is_new(self) -> None:
        try:
            for record in self._work.records(self._told):
                self._told += 1
                self._tell(told(record))
        except CovingtonError:
            pass  # a request that failed; there will be others
        except Exception as error:
            self._error = error

"""The three jobs that every engine must do as this process does them: parse, train, evaluate."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apache_beam as beam

from covington.pipelines import ParseJob, ParseSentences, ReadSentences, Runner, ScoreParses
from covington.pipelines.epochs import Training
from covington.pipelines.storage import read_json, write_json
from covington.pipelines.train import TrainJob
from covington.scores import scores
from covington.training import TrainingOptions
from tests.pipelines.conftest import SAMPLE
from tests.pipelines.test_parse import files

HERE = Runner(threads=1)
SMALL = 50_000  # bytes: a handful of blocks


@dataclass(frozen=True)
class Jobs:
    """A corpus and a model; every job gives something that can be compared with ==."""

    corpus: str
    model: str

    def parse(self, runner: Runner, folder: Path) -> dict[str, bytes]:
        """All files of the output, by name."""
        ParseJob([self.corpus], str(folder), self.model, block_bytes=SMALL).run(runner)
        return files(folder)

    def train(self, runner: Runner, folder: Path) -> bytes:
        """The bytes of a model of three shards."""
        path = folder / "model"
        options = TrainingOptions(epochs=2)
        TrainJob(Training((SAMPLE,), str(path), (SAMPLE,), options, shards=3), runner).run()
        assert not list(folder.glob("model.*"))
        return path.read_bytes()

    def evaluate(self, runner: Runner, folder: Path) -> dict[str, Any]:
        """The scores of the model on the sample."""
        target = str(folder / "scores.json")

        def build(pipeline: beam.Pipeline) -> None:
            gold = pipeline | ReadSentences(SAMPLE, SMALL)
            system = gold | ParseSentences(self.model)
            counts = {"gold": gold, "system": system} | ScoreParses()
            # a function of its own would travel by the name of this module, which workers do not have
            _ = counts | "Keep" >> beam.Map(lambda one: write_json(target, scores(one, "the system")))

        runner.run(build)
        found: dict[str, Any] = read_json(target)
        assert found["tokens"] == 350
        return found

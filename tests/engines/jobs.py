"""The three jobs that every engine must do as this process does them: parse, train, evaluate."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from covington.engine.epochs import Training
from covington.evaluation.scores import scores
from covington.files.storage import list_inputs
from covington.model.options import TrainingOptions
from covington.pipelines import EvaluateJob, ParseJob, Runner
from covington.pipelines.train import TrainJob
from tests.support.folders import files
from tests.support.sample import SAMPLE

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
        """The scores of the model on the sample, which was parsed here."""
        ParseJob([SAMPLE], str(folder / "system"), self.model, block_bytes=SMALL).run(HERE)
        gold, system = list_inputs([SAMPLE]), list_inputs([str(folder / "system")])
        [tally] = EvaluateJob(gold, [system], ["the system"]).run(runner)
        found = scores(tally.counts, "the system")
        assert found["tokens"] == 350
        return found

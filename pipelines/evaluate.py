"""The evaluation pipeline: gold and any number of systems, on one machine or many.

What comes out is small; it is handed over in files of a folder that
all workers can reach: one below --temp_location, or one of this machine where that is not given.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import apache_beam as beam
import numpy as np
from apache_beam.options.pipeline_options import GoogleCloudOptions

from covington.engine.tally import Tally
from covington.errors import CovingtonError
from covington.evaluation.counts import Counts
from covington.files.storage import (
    InputFile,
    exists,
    join,
    open_raw,
    read_json,
    readable,
    remove_folder,
    whole_file,
    write_json,
)
from covington.pipelines.runner import LOCAL, Runner
from covington.pipelines.scoring import ScoreParses


@dataclass(frozen=True)
class EvaluateJob:
    """Gold trees, and the parses of them by one or several systems."""

    gold: Sequence[InputFile]
    systems: Sequence[Sequence[InputFile]]
    names: Sequence[str]

    def run(self, runner: Runner = LOCAL) -> list[Tally]:
        """One tally for each system; where there are several, with the scores of every sentence."""
        runner.check()
        rows = len(self.systems) > 1
        with _folder(runner) as folder:

            def build(pipeline: beam.Pipeline) -> None:
                for number, (system, name) in enumerate(zip(self.systems, self.names, strict=True)):
                    (
                        pipeline
                        | f"ScoreParses{number}" >> ScoreParses(self.gold, system, name, rows)
                        | f"KeepTally{number}" >> beam.Map(keep, folder, number)
                    )

            runner.run(build)
            return [kept(folder, number) for number in range(len(self.systems))]


@contextmanager
def _folder(runner: Runner) -> Iterator[str]:
    place = runner.options.view_as(GoogleCloudOptions).temp_location
    if place is None:
        with tempfile.TemporaryDirectory(prefix="covington-") as folder:
            yield folder
        return
    folder = join(place, f"covington-evaluate-{secrets.token_hex(6)}")
    try:
        yield folder
    finally:
        remove_folder(folder)


def keep(tally: Tally, folder: str, number: int) -> None:
    """Leave a tally where the command will look for it; the file of counts comes last."""
    with whole_file(join(folder, f"rows-{number}.npy")) as file:
        np.save(file, tally.sentence_scores, allow_pickle=False)
    write_json(join(folder, f"counts-{number}.json"), tally.counts.to_dict())


def kept(folder: str, number: int) -> Tally:
    """The tally that a worker left."""
    counts = join(folder, f"counts-{number}.json")
    if not exists(counts):
        raise CovingtonError(
            f"the workers left nothing in {folder}; --temp_location names a folder that they can reach too"
        )
    rows = join(folder, f"rows-{number}.npy")
    with readable(rows), open_raw(rows) as file:
        found = np.load(file, allow_pickle=False)
    return Tally(Counts.from_dict(read_json(counts)), rows=((0, found),))

"""Training in shards beside plain training: seconds per epoch by the clock on the wall, and what the models score.

A machine that shares its processor gives two threads anything between one core and two. So how much it gives is
measured beside every training: the same computation in one thread, and in two at the same time.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.accuracy import judged
from benchmarks.corpora import Corpora, whole
from benchmarks.machine import cores_given
from benchmarks.settings import Scale
from benchmarks.timing import Probe, alternate, spread
from covington.model.options import TrainingOptions
from covington.parsing.parser import Parser

SHARDS = 4
PLAIN, IN_SHARDS = "plain", f"{SHARDS} shards"
CORES = 2


def train(corpus: str, dev: str, test: str, epochs: int, shards: int) -> dict[str, Any]:
    """Train with the templates of the paper, and time every epoch."""
    from covington.engine.epochs import Training  # with Beam, which the other benchmarks do not wait for
    from covington.pipelines.runner import Runner
    from covington.pipelines.train import TrainJob

    options = TrainingOptions(templates="paper", epochs=epochs)
    cores = [cores_given(CORES)]
    with tempfile.TemporaryDirectory() as folder:
        model = str(Path(folder) / "model")
        ends = [time.perf_counter()]
        job = TrainJob(
            Training((corpus,), model, options=options, shards=shards),
            Runner(threads=CORES) if shards > 1 else None,
        )
        job.run(lambda record: ends.append(time.perf_counter()))
        cores.append(cores_given(CORES))
        parser = Parser.load(model)
        scores = {name: judged(gold, parser.parse(gold)) for name, gold in _parts(dev, test)}
    laps = [end - start for start, end in pairwise(ends)]
    return {
        "epoch": statistics.mean(laps[1:] or laps),  # the first has the reading in it
        "cores": min(cores),
        "las": {name: found["las"] for name, found in scores.items()},
    }


def _parts(dev: str, test: str) -> list[tuple[str, Any]]:
    return [("dev", whole(dev)), ("test", whole(test))]


def measure(corpora: Corpora, scale: Scale) -> dict[str, Any]:
    """Plain training, and training in shards for twice as many epochs, in turns."""
    texts = {"corpus": corpora.train, "dev": corpora.dev, "test": corpora.test}
    contenders = {
        PLAIN: Probe("shards", "train", {**texts, "epochs": scale.epochs, "shards": 1}),
        IN_SHARDS: Probe("shards", "train", {**texts, "epochs": 2 * scale.epochs, "shards": SHARDS}),
    }
    rows = alternate(contenders, scale)
    return {
        name: {
            "epochs": contenders[name].arguments["epochs"],
            "epoch": spread([one["epoch"] for one in found]),
            "against plain": spread(
                [one["epoch"] / plain["epoch"] for one, plain in zip(found, rows[PLAIN], strict=True)]
            ),
            "cores": spread([one["cores"] for one in found]),
            "las": found[0]["las"],
        }
        for name, found in rows.items()
    }

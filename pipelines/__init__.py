"""Parse, train and evaluate as Apache Beam pipelines: the transforms, each with a worked example."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # for those who check types; the names are those of _HOMES
    from covington.engine.epochs import Training as Training
    from covington.engine.shards import Report as Report
    from covington.engine.shards import Shard as Shard
    from covington.engine.tally import Tally as Tally
    from covington.engine.work import ParseOptions as ParseOptions
    from covington.pipelines.evaluate import EvaluateJob as EvaluateJob
    from covington.pipelines.inference import CovingtonModelHandler as CovingtonModelHandler
    from covington.pipelines.parse import ParseJob as ParseJob
    from covington.pipelines.runner import Runner as Runner
    from covington.pipelines.scoring import ScoreParses as ScoreParses
    from covington.pipelines.train import TrainJob as TrainJob
    from covington.pipelines.train import TrainParser as TrainParser
    from covington.pipelines.transforms import ParseSentences as ParseSentences
    from covington.pipelines.transforms import ReadSentences as ReadSentences
    from covington.pipelines.transforms import WriteSentences as WriteSentences

# name → where it lives; Beam takes a second to import, so nothing is loaded before it is asked for
_HOMES = {
    "CovingtonModelHandler": "pipelines.inference",
    "EvaluateJob": "pipelines.evaluate",
    "ParseJob": "pipelines.parse",
    "ParseOptions": "engine.work",
    "ParseSentences": "pipelines.transforms",
    "ReadSentences": "pipelines.transforms",
    "Report": "engine.shards",
    "Runner": "pipelines.runner",
    "ScoreParses": "pipelines.scoring",
    "Shard": "engine.shards",
    "Tally": "engine.tally",
    "TrainJob": "pipelines.train",
    "TrainParser": "pipelines.train",
    "Training": "engine.epochs",
    "WriteSentences": "pipelines.transforms",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'covington.pipelines' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"covington.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__

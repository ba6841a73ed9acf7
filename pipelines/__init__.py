"""Parse, train and evaluate as Apache Beam pipelines: the transforms, each with a worked example."""

from __future__ import annotations

import importlib

# name → where it lives; Beam takes a second to import, so nothing is loaded before it is asked for
_HOMES = {
    "CovingtonModelHandler": "inference",
    "EvaluateJob": "evaluate",
    "ParseJob": "parse",
    "ParseOptions": "work",
    "ParseSentences": "transforms",
    "ReadSentences": "transforms",
    "Report": "shards",
    "Runner": "runner",
    "ScoreParses": "scoring",
    "Shard": "shards",
    "Tally": "tally",
    "TrainJob": "train",
    "TrainParser": "train",
    "Training": "epochs",
    "WriteSentences": "transforms",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'covington.pipelines' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"covington.pipelines.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__

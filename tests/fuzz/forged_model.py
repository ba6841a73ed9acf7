"""A model that somebody forged is refused, or gives trees: the loop that parses follows its tables without looking."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import covington
from covington import models
from covington.errors import ModelError
from covington.learning.perceptron.freezing import freeze
from covington.learning.perceptron.weights import Weights
from covington.learning.survey import survey
from covington.learning.training import prepare, train_epoch
from covington.model.options import TrainingOptions
from covington.parsing.parser import Parser
from tests.fuzz.model_file import with_checksum
from tests.fuzz.runner import Fuzzer

_FOLDER = tempfile.TemporaryDirectory(prefix="covington-fuzz-")
_FILE = Path(_FOLDER.name) / "fuzz.covington"
_SENTENCES = next(covington.read_conllu(models.sample())).slice(0, 12)


def seeds() -> list[bytes]:
    """Models of both roots, with and without classes of their own for repairs."""
    files = []
    for options in (
        TrainingOptions(templates="paper"),
        TrainingOptions(templates="rich", root="explicit", repairs="shared"),
    ):
        found = survey([_SENTENCES])
        weights, shard = Weights(found.classes(options).count), prepare([_SENTENCES], options, found)
        train_epoch(weights, shard, 1)
        freeze(weights, options, found, _FILE, prune=0.5)
        files.append(_FILE.read_bytes())
    return files


def target(data: bytes, random_: random.Random) -> str:
    """Whatever its tables say, every word gets a head within its sentence, and every sentence one root."""
    _FILE.write_bytes(with_checksum(data))
    try:
        parser = Parser.load(_FILE)
    except ModelError as error:
        return f"refused: {str(error).removeprefix(f'{_FILE}: ')}"
    for heads in parser.parse(_SENTENCES, single_root=True).column("head").to_pylist():
        assert heads.count(0) == 1 and all(0 <= head <= len(heads) for head in heads)
    return "parsed"


FUZZER = Fuzzer("forged_model", "model_file", seeds, target)

"""Training: processor seconds per epoch for every oracle, and the models that the other measurements use."""

from __future__ import annotations

import hashlib
import json
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.corpora import Corpora, batches, first_tokens
from benchmarks.settings import Scale
from benchmarks.timing import Probe, alternate, spread, tell, timed
from covington.learning.perceptron.freezing import freeze
from covington.learning.perceptron.weights import Weights
from covington.learning.survey import survey
from covington.learning.training import Shard, prepare, train_epoch
from covington.model.options import TrainingOptions
from covington.study.comparison import code_fingerprint
from covington.transition.names import ORACLES

#: name → the training options of a model that is measured; all of them learn with `upper`.
SETTINGS: dict[str, dict[str, Any]] = {
    "paper": {"templates": "paper"},
    "paper, UPOS+XPOS": {"templates": "paper", "tag": "upos+xpos"},
    "rich": {"templates": "rich"},
}


def train(
    corpus: str,
    options: dict[str, Any],
    epochs: int,
    model: str | None = None,
    tokens: int | None = None,
) -> dict[str, Any]:
    """Train from scratch, with the time of every epoch, and keep the model if it has a name."""
    chosen = TrainingOptions.from_dict({**options, "epochs": epochs})
    data = batches(corpus)
    if tokens is not None:
        data = first_tokens(data, tokens)
    found = survey(data)
    shards: list[Shard] = []
    preparing = timed(lambda: shards.append(prepare(data, chosen, found)))
    weights = Weights(found.classes(chosen).count)
    laps = [timed(partial(train_epoch, weights, shards[0], epoch)) for epoch in range(1, epochs + 1)]
    facts: dict[str, Any] = {
        "tokens": found.tokens,
        "sentences": found.sentences,
        "prepare": preparing.cpu,
        "epochs": [lap.cpu for lap in laps],
        "wall": [lap.wall for lap in laps],
        "updates": weights.updates,
    }
    if model is not None:
        freezing = timed(partial(freeze, weights, chosen, found, model))
        facts |= {"freeze": freezing.cpu, "bytes": Path(model).stat().st_size}
    return facts


def models(corpora: Corpora, scale: Scale, work: Path) -> dict[str, dict[str, Any]]:
    """Path and facts of the model of every setting; one that was trained before by the same code is taken."""
    found = {}
    for name, options in SETTINGS.items():
        key = _key(Path(corpora.train), options, scale.epochs)
        path = work / f"{corpora.name}-{name.replace(', ', '-').lower()}-{key}.covington"
        facts = path.with_suffix(".json")
        if not (path.exists() and facts.exists()):
            tell(f"training {name}, {scale.epochs} epochs")
            arguments = {"corpus": corpora.train, "options": options, "epochs": scale.epochs}
            trained = Probe("training", "train", arguments | {"model": str(path)}).run(scale.fresh)
            facts.write_text(json.dumps(trained), encoding="utf-8")
        found[name] = json.loads(facts.read_text(encoding="utf-8")) | {"path": str(path), "options": options}
    return found


def measure(corpora: Corpora, scale: Scale) -> dict[str, Any]:
    """Seconds per epoch for every oracle, the paper's templates."""
    contenders = {
        oracle: Probe(
            "training",
            "train",
            {
                "corpus": corpora.train,
                "options": {"templates": "paper", "oracle": oracle},
                "epochs": scale.training_epochs,
            },
        )
        for oracle in ORACLES
    }
    rows = alternate(contenders, scale)
    return {
        oracle: {
            "tokens": found[0]["tokens"],
            "prepare": spread([one["prepare"] for one in found]),
            "total": spread([sum(one["epochs"]) for one in found]),
            "epochs": [
                spread([one["epochs"][epoch] for one in found]) for epoch in range(scale.training_epochs)
            ],
        }
        for oracle, found in rows.items()
    }


def _key(corpus: Path, options: dict[str, Any], epochs: int) -> str:
    """Changes with the data, the options and all code that a model depends on."""
    digest = hashlib.sha256(json.dumps([options, epochs], sort_keys=True).encode())
    digest.update(code_fingerprint().encode())
    digest.update(corpus.read_bytes())
    return digest.hexdigest()[:12]

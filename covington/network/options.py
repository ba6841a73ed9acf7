"""Sizes of the network and rules of its training."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from covington.errors import OptionError
from covington.transition.names import MONOTONIC_ORACLES, ORACLES

TARGETS = ("canonical", "paper")

#: sizes of layers: from and to
_SIZES = {
    "form": (1, 1024),
    "subword": (1, 1024),
    "buckets": (1, 1 << 20),
    "state": (1, 1024),
    "tag": (1, 1024),
    "bottleneck": (1, 1024),
    "slot": (1, 1024),
    "label": (1, 1024),
}


@dataclass(frozen=True)
class NetworkOptions:
    """How large the network is, and how it is trained.

    form, subword, buckets: columns of the embeddings of forms and of hashed subwords, and rows of the latter.
    state: of an LSTM, per direction. tag: columns that predicted tags are embedded in.
    bottleneck: of a word, before it is projected. slot, label: hidden layers of the scorers of actions and labels.
    oracle: what the costs of actions are asked from; static and monotonic keep to the monotonic system.
    target: what an action's probability is moved to. `canonical`: the gold arc if optimal, else Shift, else NoArc;
        `paper`: all optimal actions together, but NoArc not where Shift is optimal.
    batch: words of an update, 0 for a number that fits the treebank; updates: how many of them at least.
    rate, table_rate: of learning at first; how many times as much for embeddings.
    given: of 100 training sentences, how many are read with their gold tags.
    """

    form: int = 100
    subword: int = 64
    buckets: int = 1 << 15
    state: int = 128
    tag: int = 48
    bottleneck: int = 128
    slot: int = 192
    label: int = 192
    oracle: str = "upper"
    target: str = "canonical"
    explore: float = 0.9
    explore_from: int = 2
    epochs: int = 20
    seed: int = 1
    batch: int = 0
    updates: int = 5000
    rate: float = 2e-3
    table_rate: float = 1.0
    clip: float = 5.0
    dropout: float = 0.33
    word_dropout: float = 0.25
    given: int = 50

    def __post_init__(self) -> None:
        for name, (least, most) in _SIZES.items():
            value = getattr(self, name)
            if type(value) is not int or not least <= value <= most:
                raise OptionError(f"{name} {value!r} is not a number from {least} to {most}")
        if self.state % 4:
            raise OptionError(f"state {self.state} is not a multiple of 4")
        for name, allowed in (("oracle", ORACLES), ("target", TARGETS)):
            if getattr(self, name) not in allowed:
                raise OptionError(f"{name} {getattr(self, name)!r} is none of {', '.join(allowed)}")
        for name in ("explore", "dropout", "word_dropout"):
            if not 0 <= getattr(self, name) <= (0.9 if name == "dropout" else 1):
                raise OptionError(f"{name} {getattr(self, name)} is out of range")
        if not (1 <= self.epochs < 1 << 31 and 1 <= self.explore_from < 1 << 31 and 0 <= self.seed < 1 << 63):
            raise OptionError("epochs, explore_from and seed are whole numbers from 1 (seed: from 0)")
        if (
            self.batch < 0
            or self.updates < 0
            or not 0 <= self.given <= 100
            or self.rate <= 0
            or self.clip <= 0
        ):
            raise OptionError("batch, updates, given, rate or clip is out of range")

    @property
    def monotonic(self) -> bool:
        """Is the parser's system the monotonic one?"""
        return self.oracle in MONOTONIC_ORACLES

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> NetworkOptions:
        return cls(**{name: values[name] for name in cls.__dataclass_fields__ if name in values})

"""The training options: which rules are followed where the paper leaves a choice."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from covington.errors import OptionError
from covington.features import encoding
from covington.features.templates import SETS
from covington.transition.names import MONOTONIC_ORACLES, ORACLES, ROOTS

#: rule → are premature guesses accepted, are wrong arcs accepted that replace another arc?
ACCEPT = {
    "all": (True, True),
    "no-guess": (False, True),
    "careful": (False, False),
}
#: columns that a model can do without
LEAVABLE = ("xpos", "feats", "lemmas")
MIXING = ("geometric", "uniform", "updates")
#: training option → its values
CHOICES: dict[str, tuple[str, ...]] = {
    "oracle": ORACLES,
    "templates": tuple(SETS),
    "root": ROOTS,
    "accept": tuple(ACCEPT),
    "target": ("canonical", "best"),
    "tag": encoding.TAGS,
    "repairs": ("own", "shared"),
}


@dataclass(frozen=True)
class TrainingOptions:
    """How to train. docs/learning-rules.md says how the defaults were found.

    accept: which optimal transitions need no update. `all`; `no-guess`: not a wrong arc to a word that has no head yet
        while its gold arc can still be built; `careful`: nor a wrong arc that replaces another.
    target: what an update moves towards. `canonical`: the gold arc if optimal, else Shift, else NoArc, else the
        best-scoring free arc; `best`: the best-scoring optimal transition.
    explore, explore_from: from that epoch on, the probability of following a wrong prediction.
    repairs: `own` gives arcs that take another arc away two classes of their own, one to each side, and the label
        that scores best without them; `shared` is the paper's way, one class per arc and label. Of no meaning for
        monotonic systems.
    tag: the column that the templates' PoS tag `p` is read from, or `upos+xpos`, both together.
    without: columns joined by +, as `xpos+feats`, from which nothing is learnt, for text that does not have them.
    """

    oracle: str = "upper"
    templates: str = "rich"
    root: str = "implicit"
    accept: str = "careful"
    target: str = "canonical"
    explore: float = 0.9
    explore_from: int = 2
    epochs: int = 15
    seed: int = 1
    tag: str = "upos"
    repairs: str = "own"
    without: str = ""

    def __post_init__(self) -> None:
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                raise OptionError(f"{name} {getattr(self, name)!r} is none of {', '.join(allowed)}")
        if not isinstance(self.without, str):
            raise TypeError("without is columns joined by +")
        for column in sorted(self.left_out):
            if column not in LEAVABLE:
                raise OptionError(f"without {column!r}: what can be left out is {', '.join(LEAVABLE)}")
        if self.left_out & {*self.tag.split("+")}:
            raise OptionError(f"tags cannot be read from {self.tag} without {self.without}")
        if not 0 <= self.explore <= 1:
            raise OptionError(f"explore {self.explore} is not a probability")
        if not (1 <= self.epochs < 1 << 31 and 1 <= self.explore_from < 1 << 31):
            raise OptionError("epochs and explore_from are numbers from 1 to 2^31 - 1")
        if not 0 <= self.seed < 1 << 63:
            raise OptionError(f"seed {self.seed} is not a number from 0 to 2^63 - 1")

    @property
    def left_out(self) -> frozenset[str]:
        """The columns from which nothing is learnt."""
        return frozenset(self.without.split("+")) if self.without else frozenset()

    @property
    def monotonic(self) -> bool:
        """Does the parser keep to the monotonic system?"""
        return self.oracle in MONOTONIC_ORACLES

    @property
    def own_repairs(self) -> bool:
        """Do arcs that replace another have classes of their own?"""
        return self.repairs == "own" and not self.monotonic

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TrainingOptions:
        if not isinstance(values, Mapping):
            raise TypeError("options are names with values")
        return cls(**{name: values[name] for name in cls.__dataclass_fields__ if name in values})

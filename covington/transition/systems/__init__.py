"""The transition systems that there are: one module each, and a line in this table."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from covington.transition.names import ORACLES
from covington.transition.system import Oracle, System
from covington.transition.systems import covington


class _Maker(NamedTuple):
    """What a module makes of the name of an oracle, and of whether the root is explicit."""

    system: Callable[[str, bool], System]
    oracle: Callable[[str, bool], Oracle]


#: oracle → how it and its system are made
SYSTEMS = dict.fromkeys(ORACLES, _Maker(covington.make_system, covington.make_oracle))


def make_system(oracle: str, explicit_root: bool) -> System:
    """The system that an oracle is for."""
    return SYSTEMS[oracle].system(oracle, explicit_root)


def make_oracle(oracle: str, explicit_root: bool) -> Oracle:
    """An oracle with a workspace of its own."""
    return SYSTEMS[oracle].oracle(oracle, explicit_root)

"""The transition systems that there are: one module each, and a line in this table."""

from __future__ import annotations

from covington.transition.names import ORACLES
from covington.transition.system import Oracle, System
from covington.transition.systems import covington

#: oracle → the module of its system
SYSTEMS = dict.fromkeys(ORACLES, covington)


def make_system(oracle: str, explicit_root: bool) -> System:
    """The system that an oracle is for."""
    return SYSTEMS[oracle].make_system(oracle, explicit_root)


def make_oracle(oracle: str, explicit_root: bool) -> Oracle:
    """An oracle with a workspace of its own."""
    return SYSTEMS[oracle].make_oracle(oracle, explicit_root)

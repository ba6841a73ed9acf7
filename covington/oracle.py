"""Losses, bounds and transitions on plain lists of heads, for people who study the algorithm.

`heads` and `gold` hold the head of each of the words 1..n. With the explicit root a word without a head has -1,
0 is the root word and stands first in λ1; i = -1 says that λ1 is used up. With the implicit root every word starts
attached to 0 and i = 0 says that λ1 is used up. The right focus word j is n + 1 when the buffer is empty.
"""

from __future__ import annotations

from collections.abc import Sequence

from covington import costs as _costs
from covington import state as _state
from covington.errors import OptionError
from covington.exact import exact_loss as exact_loss  # the search has a module of its own

TRANSITIONS = tuple(sorted(_state.TRANSITIONS, key=_state.TRANSITIONS.__getitem__))  # by number
ORACLES = tuple(_costs.ORACLES)
SYSTEMS = ("monotonic", "non-monotonic")
ROOTS = ("implicit", "explicit")

Heads = Sequence[int]


def loss_bounds(heads: Heads, gold: Heads, i: int, j: int, root: str = "explicit") -> tuple[int, int, int]:
    """The three bounds of the non-monotonic loss: |U|, |U| + n_pc(A ∪ I), |U| + n_c(A ∪ I)."""
    explicit = check_configuration(heads, gold, i, j, root)
    lower = _costs.unreachable(heads, gold, i, j, explicit)
    problematic = _costs.cycles(heads, gold, i, j, explicit, True)
    every = _costs.cycles(heads, gold, i, j, explicit, False)
    return lower, lower + problematic, lower + every


def monotonic_loss(heads: Heads, gold: Heads, i: int, j: int, root: str = "explicit") -> int:
    """The exact loss of a configuration in the monotonic system (Algorithm 1)."""
    return _costs.monotonic_loss(heads, gold, i, j, check_configuration(heads, gold, i, j, root))


def transition_costs(
    heads: Heads, gold: Heads, i: int, j: int, oracle: str, root: str = "explicit"
) -> dict[str, int]:
    """How much each allowed transition raises the oracle's loss, up to a constant that all of them share."""
    explicit = check_configuration(heads, gold, i, j, root)
    if oracle not in ORACLES:
        raise OptionError(f"oracle {oracle!r} is none of {', '.join(ORACLES)}")
    if not (0 if explicit else 1) <= i or j > len(gold):
        raise OptionError("costs are for configurations with two focus words")
    found = _costs.transition_costs(heads, gold, i, j, explicit, _costs.ORACLES[oracle])
    return {name: loss for name, loss in zip(TRANSITIONS, found, strict=True) if loss is not None}


def apply(
    heads: Heads,
    i: int,
    j: int,
    transition: str,
    system: str = "non-monotonic",
    root: str = "explicit",
) -> tuple[list[int], int, int]:
    """The configuration a transition leads to, as (heads, i, j); OptionError where it is not allowed."""
    explicit = check_configuration(heads, heads, i, j, root, gold_is_tree=False)
    if transition not in TRANSITIONS:
        raise OptionError(f"transition {transition!r} is none of {', '.join(TRANSITIONS)}")
    if system not in SYSTEMS:
        raise OptionError(f"system {system!r} is none of {', '.join(SYSTEMS)}")
    if j > len(heads):
        raise OptionError(f"{transition} is not allowed: the buffer is empty")
    result = _state.apply(heads, i, j, _state.TRANSITIONS[transition], system == "monotonic", explicit)
    if result is None:
        raise OptionError(
            f"{transition} is not allowed with the focus words {i} and {j} in the {system} system"
        )
    return result


def check_configuration(
    heads: Heads, gold: Heads, i: int, j: int, root: str, gold_is_tree: bool = True
) -> bool:
    """Refuse what is not a configuration; True for the explicit root."""
    if root not in ROOTS:
        raise OptionError(f"root {root!r} is none of {', '.join(ROOTS)}")
    explicit, n = root == "explicit", len(heads)
    if len(gold) != n:
        raise OptionError(f"heads has {n} words, gold has {len(gold)}")
    if not 1 <= j <= n + 1 or not (-1 if explicit else 0) <= i < j:
        raise OptionError(f"focus words {i} and {j} do not fit a sentence of {n} words")
    _check_acyclic("heads", heads, -1 if explicit else 0)
    if gold_is_tree:
        _check_acyclic("gold", gold, 0)
    return explicit


def _check_acyclic(name: str, heads: Heads, lowest: int) -> None:
    n = len(heads)
    for word, head in enumerate(heads, 1):
        if not lowest <= head <= n or head == word:
            raise OptionError(f"{name}: word {word} cannot have head {head} in a sentence of {n} words")
    safe: set[int] = set()
    for word in range(1, n + 1):
        path = []
        while word > 0 and word not in safe:
            safe.add(word)
            path.append(word)
            word = heads[word - 1]
        if word in path:
            raise OptionError(f"{name}: word {word} is on a cycle")

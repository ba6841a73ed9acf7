"""Tables in Python whose entries compiled code numbers: the two must agree before either is used."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence


def require_same_names(what: str, names: Collection[str], numbers: Mapping[str, int]) -> None:
    """ImportError unless compiled code has a number for each of these names and no other: 0, 1, 2 and so on."""
    if set(names) != set(numbers):
        differing = ", ".join(sorted(set(names) ^ set(numbers)))
        raise ImportError(
            f"{what}: Python and the compiled modules do not have the same names ({differing}); "
            "compile the modules again"
        )
    if sorted(numbers.values()) != list(range(len(numbers))):
        raise ImportError(f"{what}: the compiled modules do not number them from 0 to {len(numbers) - 1}")


def require_same_order(what: str, names: Sequence[str], numbers: Mapping[str, int]) -> None:
    """ImportError unless compiled code numbers these names in their order."""
    require_same_names(what, names, numbers)
    if sorted(numbers, key=numbers.__getitem__) != list(names):
        raise ImportError(f"{what}: Python and the compiled modules do not have them in the same order")


def require_same_value(what: str, value: int, compiled: int) -> None:
    """ImportError unless a size that Python and compiled code both have is the same in both."""
    if value != compiled:
        raise ImportError(
            f"{what} is {value:,} in Python and {compiled:,} in the compiled modules; compile the modules again"
        )

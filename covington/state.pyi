from collections.abc import Sequence

TRANSITIONS: dict[str, int]

def apply(
    heads: Sequence[int], i: int, j: int, transition: int, monotonic: bool, explicit_root: bool
) -> tuple[list[int], int, int] | None: ...

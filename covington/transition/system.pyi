from collections.abc import Sequence

class System:
    name: str
    transitions: tuple[str, ...]
    unlabelled: int
    count: int
    explicit_root: bool
    repairs: bool
    def apply_to(
        self, heads: Sequence[int], i: int, j: int, transition: int
    ) -> tuple[list[int], int, int] | None: ...

class Oracle:
    name: str
    explores: bool

from typing import Any

class Sentences:
    count: int
    tokens: int
    width: int
    def __init__(
        self,
        attributes: list[str],
        offsets: Any,
        columns: dict[str, Any],
        heads: Any = None,
        labels: Any = None,
    ) -> None: ...
    @staticmethod
    def joined(attributes: list[str], parts: list[Sentences]) -> Sentences: ...
    @property
    def lengths(self) -> Any: ...

def first_bad_tree(offsets: Any, heads: Any) -> tuple[int, int, str] | None: ...

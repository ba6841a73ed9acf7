from typing import Any

class FrozenWeights:
    classes: int
    width: int
    def __init__(
        self,
        classes: int,
        common: Any,
        dense: Any,
        sparse: Any,
        rare: Any,
        gate_filter: Any,
    ) -> None: ...

def make_filter(keys: Any) -> Any: ...
def lay_out(classes: int, keys: Any, ends: Any, numbers: Any, weights: Any) -> dict[str, Any]: ...

from typing import Any

class FrozenWeights:
    labels: int
    own_repairs: bool
    columns: int
    width: int
    def __init__(
        self,
        labels: int,
        own_repairs: bool,
        classes: Any,
        regions: Any,
        common: Any,
        rows: Any,
        rare: Any,
        gate_filter: Any,
    ) -> None: ...

def make_filter(keys: Any) -> Any: ...
def lay_out(columns: int, keys: Any, ends: Any, numbers: Any, weights: Any) -> dict[str, Any]: ...

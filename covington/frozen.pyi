from typing import Any

class FrozenWeights:
    classes: int
    width: int
    def __init__(self, classes: int, places: Any, rows: Any) -> None: ...

def lay_out(classes: int, keys: Any, ends: Any, numbers: Any, weights: Any) -> dict[str, Any]: ...

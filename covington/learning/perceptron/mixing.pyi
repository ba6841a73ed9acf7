from typing import Any

from covington.learning.perceptron.weights import Weights

class Changes:
    checksum: str
    classes: int
    steps: int
    updates: int
    def __init__(
        self, classes: int, steps: int, updates: int, arrays: dict[str, Any], checksum: str = ""
    ) -> None: ...
    def __len__(self) -> int: ...

def mix(weights: Weights, parts: list[Changes], by: str) -> None: ...
def geometric_factor(changed: int, shards: int) -> int: ...

from typing import Any

from covington.weights import Weights

class Changes:
    classes: int
    steps: int
    updates: int
    def __init__(self, classes: int, steps: int, updates: int, arrays: dict[str, Any]) -> None: ...

def mix(weights: Weights, parts: list[Changes], by: str) -> None: ...

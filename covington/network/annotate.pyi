from typing import Any

from covington.network.integers import Weights

class Workspace:
    weights: Weights
    def __init__(self, weights: Weights) -> None: ...
    def run(
        self,
        words: Any,
        offsets: Any,
        order: Any,
        tags: Any,
        heads: Any,
        labels: Any,
        single_root: bool = True,
        given: Any = None,
        confidence: Any = None,
    ) -> None: ...

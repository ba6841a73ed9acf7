from typing import Any

from covington.scorers.scorer import Scorer
from covington.transition.system import System

class Decoder:
    def __init__(self, system: System, scorer: Scorer, root_label: int) -> None: ...
    def run(
        self,
        sentences: Any,
        first: int,
        last: int,
        longest: int,
        single_root: bool,
        heads: Any,
        labels: Any,
        margins: Any = None,
        gold: Any = None,
    ) -> None: ...
    def take_counts(self) -> tuple[list[int], int, int, int]: ...
    def trace(self, sentences: Any) -> list[tuple[int, int, int, int, int, int]]: ...

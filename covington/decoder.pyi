from typing import Any

from covington.features import Program
from covington.frozen import FrozenWeights
from covington.sentences import Sentences

COUNTS: dict[str, int]

class Decoder:
    def __init__(
        self,
        weights: FrozenWeights,
        program: Program,
        explicit_root: bool,
        monotonic: bool,
        root_label: int,
    ) -> None: ...
    def run(
        self,
        sentences: Sentences,
        first: int,
        last: int,
        longest: int,
        single_root: bool,
        heads: Any,
        labels: Any,
        margins: Any = None,
        gold: Any = None,
    ) -> None: ...
    def take_counts(self) -> dict[str, int]: ...
    def trace(self, sentences: Sentences) -> list[tuple[int, int, int, int, int]]: ...

from covington.features.program import Program
from covington.scorers.frozen import FrozenWeights
from covington.scorers.scorer import Scorer
from covington.transition.system import System

class LinearScorer(Scorer):
    def __init__(
        self, weights: FrozenWeights, program: Program, system: System, scale: float, places: int = ...
    ) -> None: ...

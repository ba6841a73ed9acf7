from covington.features.program import Program
from covington.features.sentences import Sentences
from covington.learning.perceptron.weights import Weights
from covington.transition.recording import Recorder

class Learner:
    recorder: Recorder | None
    def __init__(
        self,
        program: Program,
        labels: int,
        oracle: int,
        explicit_root: bool,
        own_repairs: bool,
        towards_best: bool,
        guesses: bool,
        idle_repairs: bool,
        explore: float,
        explore_from: int,
        seed: int,
    ) -> None: ...
    def epoch(self, weights: Weights, sentences: Sentences, epoch: int, shard: int) -> int: ...

from covington.features.program import Program
from covington.features.sentences import Sentences
from covington.learning.perceptron.weights import Weights
from covington.transition.classes import Classes
from covington.transition.recording import Recorder
from covington.transition.system import Oracle, System

class Learner:
    recorder: Recorder | None
    def __init__(
        self,
        program: Program,
        system: System,
        oracle: Oracle,
        classes: Classes,
        towards_best: bool,
        guesses: bool,
        idle_repairs: bool,
        explore: float,
        explore_from: int,
        seed: int,
    ) -> None: ...
    def epoch(self, weights: Weights, sentences: Sentences, epoch: int, shard: int) -> int: ...

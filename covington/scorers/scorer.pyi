class Scorer:
    labels: int
    scale: float
    def load(self, sentences: object) -> None: ...

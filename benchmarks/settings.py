"""How much is measured: the whole benchmark, or every part of it once in a minute."""

from __future__ import annotations

from dataclasses import dataclass

WARM_UP = 20  # sentences, so that a first call is not held against the length it happens to be measured with


@dataclass(frozen=True)
class Scale:
    """Sizes of one run."""

    fresh: bool = True  # every measurement in a process of its own
    repetitions: int = 5
    passes: int = 3  # over the same text in one process: the first one cold, the others warm
    epochs: int = 15  # of the models that parse
    training_epochs: int = 3  # timed per oracle; the third is much like those that follow
    corpus_tokens: int = 4_000_000  # end to end: what Beam takes to begin is not what is measured
    corpus_sizes: tuple[int, ...] = (10_000, 100_000, 1_000_000)
    real_lengths: tuple[int, ...] = (5, 10, 20, 30, 40, 50)
    joined_lengths: tuple[int, ...] = (10, 20, 50, 100, 200, 500)
    joined_tokens: int = 20_000
    longest: int = 10_000  # words of the one monstrous sentence
    training_parts: tuple[float, ...] = (0.125, 0.25, 0.5, 1.0)


FULL = Scale()

QUICK = Scale(
    fresh=False,
    repetitions=1,
    passes=2,
    epochs=2,
    training_epochs=1,
    corpus_tokens=2_000,
    corpus_sizes=(1_000, 4_000),
    real_lengths=(5, 10),
    joined_lengths=(5, 50),
    joined_tokens=500,
    longest=1_000,
    training_parts=(0.5, 1.0),
)

"""Learns a segmenter from gold sentences: which tokens, sentences and words a text has."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covington.characters.tables import lowercase
from covington.errors import OptionError
from covington.segmentation.core import Core
from covington.segmentation.gold import GoldText, gold_text, has_paragraphs
from covington.segmentation.learner import Learner, Step, affix_keys, form_key
from covington.segmentation.multiword import Script, scripts_of
from covington.segmentation.segmenter import FORMAT

_CURVE = 4096  # entries of the logistic function, from -8 to 8

_FOLDS = 4
_PART = 10  # sentences in a row that are held out together
_THRESHOLDS = tuple(range(-640, 897, 64))

Arrays = dict[str, NDArray[Any]]
Order = NDArray[np.int64]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class SegmentOptions:
    """How a segmenter is learnt; rates are in units of a weight, 1.0 the size of one step on a wrong answer."""

    seed: int = 1
    split_epochs: int = 16
    join_epochs: int = 10
    end_epochs: int = 25
    word_epochs: int = 10
    split_rate: float = 0.12
    join_rate: float = 0.08
    end_rate: float = 0.08
    word_rate: float = 0.1
    split_dropout: float = 0.2
    join_dropout: float = 0.0
    end_dropout: float = 0.2
    word_dropout: float = 0.1
    bits: int = 18  # 2**bits weights for every question

    def __post_init__(self) -> None:
        for name in ("split", "join", "end", "word"):
            epochs, rate = getattr(self, f"{name}_epochs"), getattr(self, f"{name}_rate")
            if not (1 <= epochs <= 1000 and 0 < rate <= 1 and 0 <= getattr(self, f"{name}_dropout") < 1):
                raise OptionError(
                    f"{name}_epochs must be 1 to 1000, {name}_rate above 0 and at most 1, {name}_dropout 0 or more"
                    " and below 1"
                )
        if not 4 <= self.bits <= 24:
            raise OptionError(f"bits must be 4 to 24, not {self.bits}")


def learn_segmenter(
    sentences: Iterable[pa.RecordBatch],
    options: SegmentOptions | None = None,
    dev: Iterable[pa.RecordBatch] | None = None,
) -> tuple[dict[str, Any], Arrays]:
    """Metadata and arrays of a segmenter; `dev` helps to decide how sure the end of a sentence must be."""
    options = options or SegmentOptions()
    train = list(sentences)
    marked = has_paragraphs(train)
    texts = [gold_text(train)] + ([gold_text(train, paragraphs=False)] if marked else [])
    metadata: dict[str, Any] = {
        "format": FORMAT,
        "end_threshold": 0,
        "has_joins": bool(_holds_spaces(texts[0])),
        "options": asdict(options),
    }
    arrays = _empty_arrays(options.bits)
    scripts = _scripts(texts[0])
    arrays |= _script_arrays(scripts)
    learners = [Learner(Core(metadata, arrays), text) for text in texts]
    first = learners[0]
    arrays["splits"] = _learnt("split", options, [(first.learn_splits, first.chunks)])
    if metadata["has_joins"]:
        arrays["joins"] = _learnt("join", options, [(first.learn_joins, first.chunks)])
    ends = [(learner.learn_ends, learner.tokens) for learner in learners]
    arrays["ends"] = _learnt("end", options, ends)
    if scripts.numbers:
        _learn_words(arrays, metadata, scripts, texts[0], options)
    judged = [_added(_held_out(arrays, metadata, texts, learners, options))]
    if dev is not None:
        held = list(dev)
        views = [gold_text(held)] + ([gold_text(held, paragraphs=False)] if marked else [])
        judged.append(_added([_counts(Learner(Core(metadata, arrays), text)) for text in views]))
    metadata["end_threshold"] = _threshold(judged)
    return metadata, arrays


def _holds_spaces(text: GoldText) -> bool:
    return any(
        b" " in text.text[start:end]
        for start, end in zip(text.starts.tolist(), text.ends.tolist(), strict=True)
    )


def _empty_arrays(bits: int) -> Arrays:
    arrays: Arrays = {"splits": np.zeros(1 << bits, np.int16)}
    arrays |= {name: np.zeros(2, np.int16) for name in ("joins", "ends", "words")}
    return arrays


def _curve() -> NDArray[np.uint16]:
    """The logistic function in 1/65536; decimal arithmetic gives the same digits everywhere."""
    one = Decimal(1)
    values = [
        int(65536 / (one + (-(Decimal(place - _CURVE // 2) + Decimal("0.5")) / 256).exp()))
        for place in range(_CURVE)
    ]
    return np.array(values, np.uint16)


def _learnt(
    question: str, options: SegmentOptions, passes: Sequence[tuple[Callable[[Order, Step], None], int]]
) -> NDArray[np.int16]:
    """Weights after some epochs with falling steps, in the units of the model."""
    epochs, rate = getattr(options, f"{question}_epochs"), getattr(options, f"{question}_rate")
    rng = np.random.Generator(np.random.PCG64(options.seed))
    weights = np.zeros(1 << options.bits, np.int32)
    curve = _curve()
    for epoch in range(epochs):
        for learn, size in passes:
            step = Step(
                weights,
                curve,
                rate=int(rate * 65536) * (epochs - epoch) // epochs,
                dropped=int(getattr(options, f"{question}_dropout") * 256),
                seed=int(rng.integers(1 << 63)),
            )
            learn(rng.permutation(size), step)
    rounded: NDArray[np.int16] = np.clip((weights + 128) >> 8, -32768, 32767).astype(np.int16)
    return rounded


@dataclass(frozen=True)
class _Scripts:
    """The scripts of a treebank, and what is known of forms."""

    numbers: dict[Script, int]
    of_token: NDArray[np.int32]  # -1 for one word
    forms: dict[str, int]  # in lower case: the value in the table of forms
    affixes: dict[int, int]


def _scripts(text: GoldText) -> _Scripts:
    """One script for every multiword token: of those that make its words, the one that most forms share."""
    spans = zip(text.starts.tolist(), text.ends.tolist(), strict=True)
    surfaces = [text.text[start:end].decode() for start, end in spans]
    forms = [lowercase(form) for form in surfaces]
    several = {pair for pair in zip(surfaces, text.words, strict=True) if len(pair[1]) > 1}
    possible = {pair: scripts_of(*pair) for pair in several}
    shared = Counter(
        script
        for _, script in {
            (lowercase(form), script) for (form, _), all_ in possible.items() for script in all_
        }
    )
    chosen = {
        pair: min(all_, key=lambda script: (-shared[script], all_.index(script)))
        for pair, all_ in possible.items()
        if all_
    }
    found = [chosen.get(pair) for pair in zip(surfaces, text.words, strict=True)]
    ordered = sorted({script for script in found if script is not None})
    numbers = {script: number for number, script in enumerate(ordered)}
    of_token = np.array([-1 if script is None else numbers[script] for script in found], np.int32)
    by_form: dict[str, Counter[int]] = defaultdict(Counter)
    for lower, number in zip(forms, of_token.tolist(), strict=True):
        by_form[lower][number] += 1
    values: dict[str, int] = {}
    affixes: dict[int, Counter[int]] = defaultdict(Counter)
    for lower, counts in by_form.items():
        ranked = sorted((-count, number) for number, count in counts.items() if number >= 0)
        if not ranked:
            continue
        best = ranked[0][1]
        values[lower] = 2 * best + (1 if counts[-1] else 0)
        for key in affix_keys(lower):
            affixes[key][best] += 1
    endings = {
        key: min((-count, number) for number, count in counts.items())[1]
        for key, counts in affixes.items()
        if sum(counts.values()) > 1
    }
    return _Scripts(numbers, of_token, values, endings)


def _script_arrays(scripts: _Scripts, never: Iterable[int] = ()) -> Arrays:
    starts, parts, literals = [0], [], bytearray()
    for script in scripts.numbers:
        for part in script:
            before = len(literals)
            literals += part.before.encode()
            after = len(literals)
            literals += part.after.encode()
            parts.append((part.start, part.end, before, after, len(literals)))
        starts.append(len(parts))
    forms = {form_key(lower): value for lower, value in scripts.forms.items()} | dict.fromkeys(never, -1)
    form_keys, form_values = _table(forms)
    affix_table_keys, affix_values = _table(scripts.affixes)
    return {
        "script_starts": np.array(starts, np.int32),
        "parts": np.array(parts, np.int32).reshape(-1, 5),
        "literals": np.frombuffer(bytes(literals), np.uint8),
        "form_keys": form_keys,
        "form_values": form_values,
        "affix_keys": affix_table_keys,
        "affix_values": affix_values,
    }


def _table(entries: dict[int, int]) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    """An open-addressed table that is at most half full."""
    size = 2
    while size < 2 * len(entries) + 2:
        size *= 2
    keys, values = np.zeros(size, np.uint64), np.zeros(size, np.int32)
    for key, value in sorted(entries.items()):
        place = key & (size - 1)
        while keys[place]:
            place = (place + 1) & (size - 1)
        keys[place], values[place] = key, value
    return keys, values


def _learn_words(
    arrays: Arrays,
    metadata: dict[str, Any],
    scripts: _Scripts,
    text: GoldText,
    options: SegmentOptions,
) -> None:
    """The decision about tokens that have no script for sure: by context, or because the form is unknown."""
    learner = Learner(Core(metadata, arrays), text)
    keys = learner.form_keys()
    first_of_type = np.array(sorted({key: place for place, key in enumerate(keys)}.values()), np.int64)

    def in_context(order: Order, step: Step) -> None:
        learner.learn_words(order, scripts.of_token, step, False)

    def as_unknown(order: Order, step: Step) -> None:
        learner.learn_words(first_of_type[order], scripts.of_token, step, True)

    passes = [(in_context, learner.tokens), (as_unknown, len(first_of_type))]
    arrays["words"] = _learnt("word", options, passes)
    several = {keys[place] for place in np.flatnonzero(scripts.of_token >= 0).tolist()}
    single = np.array([place for place in first_of_type.tolist() if keys[place] not in several], np.int64)
    wrong = Learner(Core(metadata, arrays), text).guessed_words(single)
    arrays |= _script_arrays(scripts, sorted({keys[place] for place in wrong}))


def _held_out(
    arrays: Arrays,
    metadata: dict[str, Any],
    texts: list[GoldText],
    learners: list[Learner],
    options: SegmentOptions,
) -> list[Counts]:
    """Counts on the training data, each part of it judged by a model that has not learnt from it."""
    parts = [np.cumsum(text.sentence_ends) // _PART % _FOLDS for text in texts]
    counted = []
    for fold in range(_FOLDS):
        passes = [
            (
                partial(_learn_some, learner.learn_ends, np.flatnonzero(part != fold)),
                int((part != fold).sum()),
            )
            for learner, part in zip(learners, parts, strict=True)
        ]
        core = Core(metadata, arrays | {"ends": _learnt("end", options, passes)})
        counted += [
            _counts(Learner(core, text), (part == fold).astype(np.uint8))
            for text, part in zip(texts, parts, strict=True)
            if (part == fold).any()
        ]
    return counted


def _learn_some(learn: Callable[[Order, Step], None], places: Order, order: Order, step: Step) -> None:
    learn(places[order], step)


def _counts(learner: Learner, where: NDArray[np.uint8] | None = None) -> Counts:
    """Sentences that are right, found and there, at every threshold."""
    where = np.ones(learner.tokens, np.uint8) if where is None else where
    return np.array([learner.count_sentences(threshold, where) for threshold in _THRESHOLDS])


def _added(counts: list[Counts]) -> Counts:
    total: Counts = np.sum(counts, axis=0)
    return total


def _threshold(judged: list[Counts]) -> int:
    """The threshold with the best F1 of sentences, the mean of all counts, in 1/256; its neighbours are good too."""
    score = np.sum([2 * counts[:, 0] / (counts[:, 1] + counts[:, 2]) for counts in judged], axis=0)
    return _THRESHOLDS[1 + int(np.argmax(score[:-2] + score[1:-1] + score[2:]))]

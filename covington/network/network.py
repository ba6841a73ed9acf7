"""A trained network: loaded from the arrays of a model file, it fills in tags, heads and relations, Arrow to Arrow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from covington.arrow import arrays as columns
from covington.arrow.arrays import Array
from covington.corpus.columns import heads_of, strings, word_counts
from covington.errors import ModelError, OptionError
from covington.network.annotate import Workspace
from covington.network.integers import Weights, combine
from covington.network.layers import Parameters
from covington.network.options import NetworkOptions
from covington.network.quantise import MARGINS, check, prepared, quantised
from covington.network.training import EpochReport, train
from covington.network.vocabulary import Group, Survey, Vocabulary, encode, gold_tags
from covington.schemas import MOST_WORDS

KIND = "network"


def model_of(
    parameters: Parameters, vocabulary: Vocabulary, options: NetworkOptions, many_roots: bool = False
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Metadata and arrays of a model file."""
    metadata = {
        "kind": KIND,
        "options": options.to_dict(),
        "vocabulary": vocabulary.to_dict(),
        "many_roots": many_roots,
    }
    return metadata, quantised(parameters, vocabulary, options)


def train_network(
    sentences: Sequence[pa.RecordBatch],
    dev: Sequence[pa.RecordBatch],
    options: NetworkOptions,
    progress: Callable[[EpochReport], Any] = lambda report: None,
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Train on some sentences; metadata and arrays of the best epoch on dev, whose confidence dev has calibrated.

    Without dev they are those of the last epoch.
    """
    survey = Survey()
    for batch in sentences:
        survey.add(batch)
    vocabulary = survey.vocabulary()
    corpus = encode(sentences, vocabulary, options.buckets)
    judge = encode(dev, vocabulary, options.buckets, known=False) if dev else None
    parameters, _ = train(corpus, judge, options, vocabulary, progress)
    metadata, arrays = model_of(parameters, vocabulary, options, survey.many_roots)
    return metadata, calibrated(metadata, arrays, dev)


def calibrated(
    metadata: Mapping[str, Any], arrays: Mapping[str, Array], batches: Iterable[pa.RecordBatch]
) -> dict[str, Array]:
    """The arrays with a confidence table by which arcs are as often right as it says.

    A network is surer of itself than it should be, so the table is taken from sentences that it was not trained on:
    the share of right heads for each margin, never falling as the margin grows. No tree changes.
    """
    places = np.arange(MARGINS, dtype=np.float32) / np.float32(
        MARGINS
    )  # a table that says which margin it was
    network = Network(metadata, {**arrays, "confidence": places})
    counts = np.zeros((2, MARGINS), np.int64)  # all arcs; right ones
    for batch in batches:
        found = network.annotate(batch, retag=True, confidence=True)
        flat = found.column("confidence").flatten()
        built = columns.validity(flat)
        margins = np.frombuffer(flat.buffers()[1], np.float32)[: len(flat)][built] * MARGINS
        gold, heads = (heads_of(one, word_counts(one))[built] for one in (batch, found))
        counts[0] += np.bincount(margins.astype(np.int64), minlength=MARGINS)
        counts[1] += np.bincount(margins[gold == heads].astype(np.int64), minlength=MARGINS)
    if not counts[0].any():
        return dict(arrays)
    # margins are put together until none has a lower share than the one before
    groups: list[list[int]] = []  # margins, arcs, right ones; an empty margin goes with the one before
    for total, right in counts.T.tolist():
        groups.append([1, total, right])
        while len(groups) > 1 and groups[-2][2] * groups[-1][1] >= groups[-1][2] * groups[-2][1]:
            last = groups.pop()
            groups[-1] = [one + other for one, other in zip(groups[-1], last, strict=True)]
    table = np.repeat(
        [(right + 1) / (total + 2) for _, total, right in groups], [group[0] for group in groups]
    )
    return {**arrays, "confidence": np.maximum.accumulate(table).astype(np.float32)}


class Network:
    """An annotator; one serves any number of threads."""

    #: columns of a batch that are read, and those that are written
    reads = ("tokens", "upos", "xpos", "feats")
    writes = ("upos", "xpos", "feats", "head", "deprel", "confidence")

    def __init__(
        self, metadata: Mapping[str, Any], arrays: Mapping[str, Array], kernel: str | None = None
    ) -> None:
        """ModelError for metadata and arrays that are not those of a network."""
        try:
            if metadata["kind"] != KIND:
                raise ValueError(f"a part of the kind {metadata['kind']!r}")
            self.options = NetworkOptions.from_dict(metadata["options"])
            self.vocabulary = Vocabulary.from_dict(metadata["vocabulary"], arrays["form_hashes"])
            self.many_roots = bool(metadata["many_roots"])
            check(arrays, self.options, self.vocabulary)
            table = self.vocabulary.table
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
            raise ModelError(f"this is not a network ({error})") from error
        self._weights = Weights(
            prepared(arrays, self.options),
            table,
            self.vocabulary.group_ends,
            self.options,
            len(self.vocabulary.labels),
            self.vocabulary.labels.index(self.vocabulary.root_label),
            kernel,
        )
        self._free: list[Workspace] = []

    @property
    def kernel(self) -> str:
        """The name of the kernels that were chosen for this processor."""
        return str(self._weights.kernel)

    def annotate(
        self,
        batch: pa.RecordBatch,
        *,
        threads: int = 1,
        single_root: bool | None = None,
        max_length: int = MOST_WORDS,
        retag: bool = False,
        confidence: bool = False,
    ) -> pa.RecordBatch:
        """Fill in `upos`, `xpos`, `feats`, `head` and `deprel`, one row in, one row out.

        Tags that the batch has are kept and read, unless `retag` says that all are to be predicted. With `confidence`
        every arc gets how likely it is to be right, by the margin of the action that built it, null where none did.
        Sentences of more words than `max_length` come back without anything that was not there.
        """
        if threads < 1:
            raise OptionError(f"threads {threads} must be 1 or more")
        lengths = word_counts(batch)
        offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        total = int(offsets[-1])
        words = strings(batch, "tokens", lengths)
        tags = np.zeros((total, len(self.vocabulary.groups)), np.int32)
        heads, labels = np.zeros(total, np.int32), np.zeros(total, np.int32)
        chances = np.full(total, np.nan, np.float32) if confidence else None
        longest = min(max_length, MOST_WORDS)
        done = np.repeat(lengths <= longest, lengths)
        one_root = not self.many_roots if single_root is None else single_root
        given = None if retag else gold_tags(batch, lengths, self.vocabulary, sure=False)
        if given is not None and not (given >= 0).any():
            given = None
        if words is not None:
            order = np.argsort(-lengths, kind="stable").astype(np.int64)
            order = order[lengths[order] <= longest]

            def work(part: int) -> None:
                with self._workspace() as workspace:
                    mine = np.ascontiguousarray(order[part::threads])
                    workspace.run(words, offsets, mine, tags, heads, labels, one_root, given, chances)

            if threads == 1:
                work(0)
            else:
                with ThreadPoolExecutor(threads) as pool:
                    list(pool.map(work, range(threads)))
        new = self._tag_columns(batch, lengths, tags, done, retag)
        new["head"] = columns.lists(lengths, columns.numbers(heads.astype(np.uint16), done))
        new["deprel"] = columns.lists(
            lengths, columns.strings(self.vocabulary.labels).take(columns.numbers(labels, done))
        )
        if chances is not None:
            new["confidence"] = columns.lists(lengths, columns.numbers(chances, ~np.isnan(chances)))
        whole = {name: batch.column(name) for name in batch.schema.names} | new
        return pa.RecordBatch.from_arrays(list(whole.values()), names=list(whole))

    @contextmanager
    def _workspace(self) -> Iterator[Workspace]:
        """A workspace that no other thread has; those that are free remember the words that they met."""
        try:
            workspace = self._free.pop()
        except IndexError:
            workspace = Workspace(self._weights)
        yield workspace
        self._free.append(workspace)

    def _tag_columns(
        self, batch: pa.RecordBatch, lengths: Array, tags: Array, done: Array, retag: bool
    ) -> dict[str, pa.Array]:
        found = {}
        for column in ("upos", "xpos", "feats"):
            places = [number for number, group in enumerate(self.vocabulary.groups) if group.column == column]
            if not places:
                continue
            groups = [self.vocabulary.groups[place] for place in places]
            if column == "feats":
                numbers, firsts = combine(np.ascontiguousarray(tags[:, places]))
                texts = [_features(groups, tags[row, places]) for row in firsts]
                names = columns.strings([*texts, ""])
                bare = np.array([not text for text in texts], np.bool_)
                values = names.take(columns.numbers(numbers, ~bare[numbers] & done if len(texts) else None))
            else:
                values = columns.strings(groups[0].values).take(
                    columns.numbers(tags[:, places[0]].copy(), done)
                )
            old = None if retag else strings(batch, column, lengths)
            if old is not None:
                values = pc.coalesce(old, values)
                if column == "feats":  # a sentence that has features keeps its words without
                    values = _kept(old, values, lengths)
            found[column] = columns.lists(lengths, values)
        return found


def _features(groups: list[Group], places: Array) -> str:
    """FEATS by the places of values in their groups."""
    pairs = [
        (group.feature, group.values[place]) for group, place in zip(groups, places, strict=True) if place
    ]
    return "|".join(f"{feature}={value}" if feature else value for feature, value in pairs)


def _kept(old: pa.StringArray, values: pa.StringArray, lengths: Array) -> pa.StringArray:
    """The old values of sentences that have some, the new ones of the others."""
    has = columns.validity(old)
    ends = np.concatenate(([0], np.cumsum(has)))
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    kept = np.repeat(ends[offsets[1:]] > ends[offsets[:-1]], lengths)
    return pc.if_else(pa.array(kept), old, values)

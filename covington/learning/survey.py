"""What training data has in it: labels and columns, to be known before the first epoch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from covington.corpus.columns import has_column, heads_of, strings, word_counts
from covington.errors import DataError
from covington.features import encoding
from covington.features.templates import template_set
from covington.model.inventory import MOST_TAGS, TAGGED
from covington.model.options import TrainingOptions
from covington.transition.classes import Classes
from covington.transition.systems import make_system

_NONE: frozenset[str] = frozenset()
MOST_LABELS = 16_000  # up to four classes each, numbered with 16 bits


@dataclass(frozen=True)
class Survey:
    """What training data has in it, to be known before the first epoch; surveys of parts add up."""

    labels: Counter[str] = field(default_factory=Counter)
    columns: frozenset[str] = frozenset()
    root_labels: Counter[str] = field(default_factory=Counter)
    tags: Mapping[str, frozenset[str]] = field(default_factory=dict)  # by column
    sentences: int = 0
    tokens: int = 0

    @classmethod
    def of(cls, batch: pa.RecordBatch) -> Survey:
        lengths = word_counts(batch)
        deprel = strings(batch, "deprel", lengths)
        if deprel is None:
            if len(deprel_free := lengths[lengths > 0]):
                raise DataError(f"{len(deprel_free)} training sentences have no labels (column 'deprel')")
            return cls(sentences=batch.num_rows)
        at_root = deprel.filter(pa.array(heads_of(batch, lengths) == 0))
        return cls(
            labels=_count(deprel),
            columns=frozenset(name for name in encoding.COLUMNS if has_column(batch, name)),
            root_labels=_count(at_root),
            tags={name: _different(strings(batch, name, lengths)) for name in TAGGED},
            sentences=batch.num_rows,
            tokens=int(lengths.sum()),
        )

    def __add__(self, other: Survey) -> Survey:
        return Survey(
            self.labels + other.labels,
            self.columns | other.columns,
            self.root_labels + other.root_labels,
            {name: _together(self.tags.get(name, _NONE), other.tags.get(name, _NONE)) for name in TAGGED},
            self.sentences + other.sentences,
            self.tokens + other.tokens,
        )

    @cached_property
    def label_list(self) -> list[str]:
        """The labels in the order of their numbers: common ones first, so that their weights lie together."""
        if not self.labels:
            raise DataError("there are no labelled trees to learn from")
        if len(self.labels) > MOST_LABELS:
            raise DataError(f"{len(self.labels)} labels are too many; at most {MOST_LABELS} can be learnt")
        return sorted(self.labels, key=lambda label: (-self.labels[label], label))

    @property
    def root_label(self) -> str:
        """The label of words that hang from an implicit root: the most common one there."""
        return min(self.root_labels or self.labels, key=lambda label: (-self.root_labels[label], label))

    @property
    def many_roots(self) -> bool:
        """Whether sentences with several roots are more than slips of the annotators, one in a hundred."""
        return sum(self.root_labels.values()) > 1.01 * self.sentences

    def classes(self, options: TrainingOptions) -> Classes:
        """The classes of the linear classifier."""
        system = make_system(options.oracle, options.root == "explicit")
        return Classes(system, len(self.label_list), options.own_repairs)

    def templates(self, options: TrainingOptions) -> list[str]:
        """The names of the templates that this data has the columns for, without those that are to be left out."""
        if not set(options.tag.split("+")) <= self.columns:
            raise DataError(f"the training data has no tags in column {options.tag!r}")
        return template_set(options.templates, set(self.columns - options.left_out))

    def to_dict(self) -> dict[str, Any]:
        return {
            "labels": dict(sorted(self.labels.items())),
            "columns": sorted(self.columns),
            "root_labels": dict(sorted(self.root_labels.items())),
            "tags": {name: sorted(values) for name, values in sorted(self.tags.items())},
            "sentences": self.sentences,
            "tokens": self.tokens,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Survey:
        return cls(
            Counter(values["labels"]),
            frozenset(values["columns"]),
            Counter(values["root_labels"]),
            {name: frozenset(tags) for name, tags in values["tags"].items()},
            values["sentences"],
            values["tokens"],
        )


def _count(labels: pa.StringArray) -> Counter[str]:
    found = pc.value_counts(labels.drop_null()).to_pylist()
    return Counter({row["values"]: row["counts"] for row in found})


def _different(values: pa.StringArray | None) -> frozenset[str]:
    return _NONE if values is None else frozenset(pc.unique(values.drop_null()).to_pylist())


def _together(one: frozenset[str], other: frozenset[str]) -> frozenset[str]:
    """All tags, or more than there can be of them."""
    if other <= one:
        return one
    return frozenset(sorted(one | other)[: MOST_TAGS + 1])


def survey(batches: Iterable[pa.RecordBatch]) -> Survey:
    """Survey all training data."""
    return sum((Survey.of(batch) for batch in batches), Survey())

"""A learnt segmenter: it opens streams that take text and give batches of sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from covington.corpus.formats import LINES
from covington.errors import ModelError, OptionError
from covington.segmentation.core import Core
from covington.segmentation.stream import SegmentStream

FORMAT = 1


class Segmenter:
    """Metadata and arrays of a model, checked; threads may share it, each stream belongs to one."""

    def __init__(self, metadata: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        self.metadata = dict(metadata)
        if self.metadata.get("format") != FORMAT:
            raise ModelError("the segmenter of the model is of another version: train the model anew")
        self._core = Core(dict(metadata), dict(arrays))

    def open(
        self,
        source: str,
        *,
        document: str = "",
        lines: str = "paragraph",
        batch_size: int = 4096,
        position: int = 0,
        line: int = 1,
        start: int = 0,
    ) -> SegmentStream:
        """A stream for one text; `document` is its name, or with `lines="document"` what the names begin with.

        A part of a file that begins with a paragraph is numbered as in the whole if `position` is the number
        of paragraphs, `line` 1 + the number of lines and `start` the number of characters before it.
        """
        if lines not in LINES:
            raise OptionError(f"lines must be one of {', '.join(LINES)}, not {lines!r}")
        _require_positive("batch_size", batch_size)
        _require_positive("line", line)
        if position < 0 or start < 0:
            raise OptionError("position and start cannot be negative")
        return SegmentStream(self._core, source, document, lines, batch_size, position, line, start)

    def open_documents(self, source: str, *, batch_size: int = 4096, position: int = 0) -> SegmentStream:
        """A stream for whole documents, `add_documents(names, texts)`, as tables have them."""
        _require_positive("batch_size", batch_size)
        return SegmentStream(self._core, source, "", "row", batch_size, position, 1, 0)


def _require_positive(name: str, value: int) -> None:
    if value < 1:
        raise OptionError(f"{name} must be at least 1, not {value}")

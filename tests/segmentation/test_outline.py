"""Text that is cut between paragraphs gives the same sentences, with the same numbers, as the whole."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from covington.segmentation.outline import outline, split_point
from tests.segmentation.models import small
from tests.segmentation.texts import texts

NAMES = ("sent_id", "text", "comments", "tokens", "misc", "mwt", "position", "line", "start", "end")


def segmented(data: bytes, **options: Any) -> tuple[list[Any], list[Any]]:
    stream = small().open("x", document="d", **options)
    batches = stream.feed(data) + stream.finish()
    return [row for batch in batches for row in batch.select(NAMES).to_pylist()], stream.take_rejects()


@given(st.lists(st.one_of(texts(), st.just("\n\n"), st.just("b\udcffd"), st.just("\0")), max_size=12))
def test_pieces_are_numbered_as_in_the_whole(parts: list[str]) -> None:
    data = "".join(parts).encode("utf-8", "surrogateescape")
    whole = segmented(data)
    sentences, rejects = [], []
    position, start, line = 0, 0, 1
    while data:
        last = split_point(data)
        piece, data = (data[:last], data[last:]) if last else (data, b"")
        found = segmented(piece, position=position, start=start, line=line)
        sentences += found[0]
        rejects += found[1]
        paragraphs, characters, lines = outline(piece)
        position, start, line = position + paragraphs, start + characters, line + lines
    assert (sentences, rejects) == whole


def test_what_counts() -> None:
    assert outline(b"") == (0, 0, 0)
    assert outline("é a\n\n \u3000\n\nb\n".encode()) == (2, 11, 5)
    assert outline(b"a\xff\xe2\n\nb") == (2, 6, 2)
    assert split_point(b"a\nb\n") == 0
    assert split_point(b"\n\na") == 0
    assert split_point(b"a\n\n  b\nc") == 3
    assert split_point("a\n\u3000\nb\n\n".encode()) == 6

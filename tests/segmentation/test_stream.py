"""Nothing is lost between text and sentences, however the text is cut and whatever is in it."""

from __future__ import annotations

import itertools
import textwrap

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covington.corpus.conllu.reader import format_batch, parse_bytes
from covington.errors import OptionError
from covington.segmentation.restoring import restored_text
from covington.segmentation.segmenter import Segmenter
from covington.segmentation.stream import SegmentStream
from tests.segmentation.models import small
from tests.segmentation.texts import texts


def segmented(
    data: bytes, cuts: list[int] | None = None, **options: object
) -> tuple[pa.Table, SegmentStream]:
    """The sentences of a text that is fed in pieces."""
    stream = small().open("test.txt", **options)  # type: ignore[arg-type]
    batches = []
    for start, end in itertools.pairwise([0, *sorted(cuts or []), len(data)]):
        batches += stream.feed(data[start:end])
    batches += stream.finish()
    for batch in batches:
        batch.validate(full=True)
    return pa.Table.from_batches(batches) if batches else pa.table({}), stream


def words(text: str, **options: object) -> list[list[str]]:
    table, _ = segmented(text.encode(), **options)
    return table["tokens"].to_pylist() if table.num_rows else []


@given(texts())
def test_text_comes_back_from_conllu(text: str) -> None:
    table, stream = segmented(text.encode())
    assert sum(stream.characters.values()) == len(text)
    assert stream.characters["rejects"] == 0 and stream.take_rejects() == []
    if not table.num_rows:
        assert stream.characters["tokens"] == 0
        return
    batch = table.combine_chunks().to_batches()[0]
    again, rejects = parse_bytes(format_batch(batch), "test.conllu")
    assert rejects.num_rows == 0
    assert restored_text([again]) == restored_text([batch]) == text.encode()


@given(texts(), st.data())
def test_cuts_do_not_matter(text: str, data: st.DataObject) -> None:
    raw = text.encode()
    cuts = data.draw(st.lists(st.integers(0, len(raw)), max_size=8))
    whole, first = segmented(raw)
    pieces, second = segmented(raw, cuts)
    assert whole.equals(pieces)
    assert first.characters == second.characters


@given(texts())
def test_places_are_those_of_the_text(text: str) -> None:
    table, _ = segmented(text.encode())
    if not table.num_rows:
        return
    last = 0
    for row in table.to_pylist():
        ranges = {
            number: node["form"]
            for node in row["mwt"]
            for number in range(int(node["id"].split("-")[0]), int(node["id"].split("-")[1]) + 1)
        }
        for number, (form, start, end) in enumerate(
            zip(row["tokens"], row["start"], row["end"], strict=True), 1
        ):
            assert last <= start < end
            last = start
            surface = ranges.get(number, form)
            assert (
                "".join(text[start:end].split()) == "".join(surface.split())
                or not text[start:end].isprintable()
            )


@pytest.mark.parametrize(
    "whole",
    [
        "http://a.b/c_(d)?e=f&g",
        "www.example.org/x",
        "a.b+c@d-e.co.uk",
        "👨\u200d👩\u200d👧",
        "👍🏽",
        "1️⃣",
        "🇩🇪",
        "e\u0301t\u0327e\u0301",
    ],
)
def test_what_belongs_together_stays_together(whole: str) -> None:
    for text in (f"see {whole}, they said.", f"({whole})", f"{whole}"):
        assert any(whole in token for sentence in words(text) for token in sentence), words(text)


@pytest.mark.parametrize("whole", ["http://a.b/c_(d)?e=f&g", "www.example.org/x", "a.b+c@d-e.co.uk"])
def test_addresses_are_tokens(whole: str) -> None:
    for text in (f"see {whole}, they said.", f"({whole})", f"<{whole}>", f"{whole}"):
        assert any(whole in sentence for sentence in words(text)), words(text)


def test_single_line_feeds_are_soft() -> None:
    text = "Mr. Smith, who said so, don't know du chat noir 10 000. The dogs bark (e.g. at cats). Yes"
    assert words(textwrap.fill(text, 20)) == words(text.replace(" ", "\n")) == words(text)


def test_flags_in_a_row_are_cut_between_pairs() -> None:
    (sentence,) = words("🇩🇪🇫🇷🇮🇹")
    assert "".join(sentence) == "🇩🇪🇫🇷🇮🇹"
    assert all(len(token) % 2 == 0 for token in sentence)


def test_paragraphs_lines_and_documents() -> None:
    text = "One dog\nbarks\n\n \nTwo dogs bark\n"
    table, _ = segmented(text.encode(), document="d")
    assert table["sent_id"].to_pylist() == ["d-1-1", "d-2-1"]
    assert table["tokens"].to_pylist() == [["One", "dog", "barks"], ["Two", "dogs", "bark"]]
    assert table["comments"].to_pylist()[0][:2] == ["newdoc id = d", "newpar"]
    assert table["comments"].to_pylist()[1][:1] == ["newpar"]
    assert table["position"].to_pylist() == [0, 1]
    assert table["line"].to_pylist() == [1, 5]
    table, _ = segmented(text.encode(), lines="sentence")
    assert table["sent_id"].to_pylist() == ["1-1", "1-2", "2-1"]
    table, _ = segmented(text.encode(), lines="document", document="d")
    assert table["sent_id"].to_pylist() == ["d-1-1-1", "d-2-1-1", "d-5-1-1"]
    assert [starts[0] for starts in table["start"].to_pylist()] == [0, 0, 0]
    assert table["document"].to_pylist() == [0, 1, 4]


def test_a_part_of_a_file_is_numbered_as_in_the_whole() -> None:
    first, second = "One dog\nbarks.\n\n\n", "  Two dogs bark. Yes.\n"
    whole, _ = segmented((first + second).encode(), document="d")
    one, _ = segmented(first.encode(), document="d")
    two, _ = segmented(second.encode(), document="d", position=1, line=5, start=len(first))
    assert (
        pa.concat_tables([one, two])
        .select(range(20))
        .drop_columns(["document"])
        .equals(whole.select(range(20)).drop_columns(["document"]))
    )


@pytest.mark.parametrize(
    ("bad", "reason"), [(b"b\0d", "a NUL is no text (byte 2)"), (b"a\xff", "not valid UTF-8 (byte 2)")]
)
def test_a_line_that_is_no_text_is_a_reject(bad: bytes, reason: str) -> None:
    data = b"One dog\n" + bad + b"\nTwo dogs\n"
    for cuts in ([], [9], [10, 11]):
        table, stream = segmented(data, cuts)
        assert table["tokens"].to_pylist() == [["One", "dog"], ["Two", "dogs"]]
        (reject,) = stream.take_rejects()
        assert (reject.line, reject.reason, reject.raw) == (2, reason, bad + b"\n")
        assert sum(stream.characters.values()) == len(data.decode("utf-8", "surrogateescape"))
        assert table["start"].to_pylist()[1][0] == len(b"One dog\n" + bad) + 1


def test_documents_of_a_table() -> None:
    stream = small().open_documents("table.parquet")
    batches = stream.add_documents(
        pa.array(["a", None, "c", "d"]), pa.array(["One dog.\n\nTwo.", "x\0y", None, " Three. "]), 1000
    )
    batches += stream.add_documents(pa.array(["e"]), pa.array(["x" * 1001]), 1000)
    (batch,) = batches + stream.finish()
    assert batch["sent_id"].to_pylist() == ["a-1-1", "a-2-1", "d-1-1"]
    assert batch["document"].to_pylist() == [0, 0, 3]
    assert [reject.reason for reject in stream.take_rejects()] == [
        "a NUL is no text (byte 2)",
        "the document is null",
        "the document has more than 1,000 bytes",
    ]
    assert sum(stream.characters.values()) == 14 + 3 + 8 + 1001
    with pytest.raises(OptionError):
        stream.feed(b"x")


def test_long_things_are_cut() -> None:
    text = "a" * 3_000_000 + " " * 300_000 + "b c " * 5_000
    table, stream = segmented(text.encode(), list(range(0, len(text), 70_001)))
    rejects = stream.take_rejects()
    assert {reject.reason for reject in rejects} == {"more white space in a row than a token keeps"}
    assert sum(stream.characters.values()) == len(text)
    assert restored_text(table.to_batches()).decode() == text.replace(" " * (65_536 * len(rejects)), "", 1)
    assert max(map(len, table["tokens"].to_pylist())) <= 1024


def test_options_that_make_no_sense() -> None:
    segmenter: Segmenter = small()
    with pytest.raises(OptionError):
        segmenter.open("x", lines="word")
    with pytest.raises(OptionError):
        segmenter.open("x", batch_size=0)

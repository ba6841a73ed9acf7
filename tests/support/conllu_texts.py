"""CoNLL-U for tests: hypothesis strategies for sentences, plainly written and oddly."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

from hypothesis import strategies as st

TREEBANKS = Path(os.environ.get("COVINGTON_TREEBANKS", Path(__file__).parents[3] / "shared" / "treebanks"))


def unpacked(path: Path) -> bytes:
    """The text of a treebank's file, compressed or not."""
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


#: Everything a field may hold: any character but those that end it.
any_text = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r"), min_size=1, max_size=12
)
#: What the `conllu` package understands the same way: no white space inside, nothing it gives a meaning.
plain_text = st.text(st.characters(categories=("L", "N", "P", "S", "M")), min_size=1, max_size=12).filter(
    lambda text: text == text.strip() and "=" not in text and "|" not in text
)


@st.composite
def rows(draw: st.DrawFn, text: st.SearchStrategy[str] = any_text) -> list[list[str]]:
    """The lines of one sentence as ten fields each: words, multiword tokens, empty nodes, in order."""
    count = draw(st.integers(1, 8))
    optional = st.one_of(st.just("_"), text)

    def fields(identity: str, head: str) -> list[str]:
        before = [draw(text), *(draw(optional) for _ in range(4))]
        return [identity, *before, head, draw(optional), draw(optional), draw(optional)]

    lines = []
    free = 1  # the first word that no multiword token covers
    for word in range(count + 1):
        if word:
            head = draw(st.one_of(st.just("_"), st.integers(0, count).map(str)))
            lines.append(fields(str(word), head))
        for number in range(1, draw(st.sampled_from([1, 1, 1, 2, 3]))):
            lines.append(fields(f"{word}.{number}", "_"))
        if free <= word + 1 <= count and draw(st.integers(0, 4)) == 0:
            end = draw(st.integers(word + 1, count))
            lines.append(fields(f"{word + 1}-{end}", "_"))
            free = end + 1
    return lines


comment_lines = st.one_of(
    any_text.map("# ".__add__),
    any_text.map("#".__add__),
    any_text.map("# sent_id = ".__add__),
    any_text.map("# text = ".__add__),
    any_text.map("#text=".__add__),
    st.sampled_from(
        ["#", "# ", "##", "# #", "# __TEXT__", "#__TEXT__", "# __SENT_ID__", "# text =", "# sent_id = "]
    ),
)


@st.composite
def sentences(draw: st.DrawFn, text: st.SearchStrategy[str] = any_text) -> str:
    """One sentence in canonical form, its blank line included."""
    comments = draw(st.lists(comment_lines, max_size=4))
    lines = ["\t".join(fields) for fields in draw(rows(text))]
    return "\n".join([*comments, *lines]) + "\n\n"


@st.composite
def oddly_written(draw: st.DrawFn, sentence: st.SearchStrategy[str] | None = None) -> tuple[str, bytes]:
    """A canonical text, and bytes that differ from it in all that reading evens out."""
    parts = draw(st.lists(sentences() if sentence is None else sentence, max_size=5))
    canonical = "".join(parts)
    blank = st.sampled_from(["", "\n", "\n\n", " \n", "\t\n", "\r\n"])
    odd = "".join(draw(blank) + part for part in parts) + draw(blank)
    if draw(st.booleans()):
        odd = odd.replace("\r\n", "\n").replace("\n", "\r\n")
    if draw(st.booleans()):
        odd = odd.rstrip("\n") if not odd.rstrip("\n").endswith(("\r", " ", "\t")) else odd
    data = odd.encode()
    return canonical, (b"\xef\xbb\xbf" + data if draw(st.booleans()) else data)

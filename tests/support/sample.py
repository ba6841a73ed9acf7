"""The bundled sample, as a path, and with bad sentences in it."""

from __future__ import annotations

from covington import models

SAMPLE = str(models.sample())


def with_bad_sentences(text: bytes) -> bytes:
    """A bad sentence after every tenth good one, and some more blank lines than needed."""
    sentences = text.strip().split(b"\n\n")
    parts = []
    for number, sentence in enumerate(sentences):
        parts.append(sentence)
        if number % 10 == 9:
            parts.append(b"# sent_id = bad-%d\n1\tno\ttabs" % number)
        if number == 20:
            parts[-1] += b"\n \n"
    return b"\n\n".join(parts) + b"\n"

"""Damaged CoNLL-U, one input after the other into one reader.

The same damage as tests.fuzz.conllu, many times faster: what was read is checked for a hundred inputs at a time.
"""

from __future__ import annotations

import random

from covington.corpus.conllu import reader as conllu
from tests.fuzz.conllu import CONTENT, seeds
from tests.fuzz.runner import Fuzzer

_TOGETHER = 100


class Stream:
    """A reader that gets input after input, and is emptied and checked now and then."""

    def __init__(self) -> None:
        self._inputs = 0
        self._start()

    def _start(self) -> None:
        self._builder = conllu.SentenceBuilder("fuzz", 1 << 20)
        self._rejects = 0

    def __call__(self, data: bytes, random_: random.Random) -> str:
        assert self._builder.feed(data, 0, True) == len(data)
        rejects = self._builder.take_rejects()
        self._rejects += len(rejects)
        self._inputs += 1
        if self._inputs % _TOGETHER == 0:
            self._check()
        return f"rejected: {rejects[0].reason}" if rejects else "read"

    def _check(self) -> None:
        """Sound arrays, every sentence counted once, and nothing lost when written and read again."""
        batch = self._builder.take()
        batch.validate(full=True)
        positions = batch["position"].to_pylist()
        assert positions == sorted(set(positions))
        again, lost = conllu.parse_bytes(conllu.format_batch(batch), "fuzz", 0, 1)
        assert lost.num_rows == 0, lost.to_pylist()
        assert again.select(CONTENT).equals(batch.select(CONTENT))
        assert not positions or positions[-1] < batch.num_rows + self._rejects
        self._start()


FUZZER = Fuzzer("conllu_stream", "conllu", seeds, Stream())

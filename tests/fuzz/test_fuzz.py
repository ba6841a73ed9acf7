"""A short run of every fuzzer; run_sanitized.sh makes a long one with a build that checks every access."""

from __future__ import annotations

from types import ModuleType

import pytest

from tests.fuzz import conllu, conllu_stream, model_file, parquet
from tests.fuzz.runner import fuzz


@pytest.mark.parametrize(
    "fuzzer", [conllu, conllu_stream, model_file, parquet], ids=lambda fuzzer: fuzzer.__name__
)
def test_damage_is_refused_or_read(fuzzer: ModuleType) -> None:
    answers = fuzz(fuzzer.target, fuzzer.seeds(), executions=500, seed=1)
    assert sum(answers.values()) == 500
    assert len(answers) > 1, "every input gave the same answer: the damage is too small or too big"

"""How well a measured parser did, so that fast and wrong cannot pass for fast."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from covington.evaluation.counts import count
from covington.evaluation.scores import scores


def judged(gold: pa.RecordBatch, system: pa.RecordBatch) -> dict[str, Any]:
    """How much was parsed, and how much of it right, in percent."""
    found = scores(count(gold, system), "parsed")
    return {name: found[name] for name in ("tokens", "sentences", "uas", "las")}

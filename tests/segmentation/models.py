"""Small segmenters for tests, learnt from the sample in the repository and from sentences made here."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pyarrow as pa

from covington.corpus.conllu.reader import parse_bytes
from covington.segmentation.learning import SegmentOptions, learn_segmenter
from covington.segmentation.segmenter import Segmenter

SAMPLE = Path(__file__).parents[2] / "models" / "sample.conllu"

#: Multiword tokens by ending, by beginning and by context, words that hold spaces, a script without spaces.
ODD = """\
# newdoc
1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_
1\tde\t_\t_\t_\t_\t0\troot\t_\t_
2\tle\t_\t_\t_\t_\t1\tdep\t_\t_
3\tchat noir\t_\t_\t_\t_\t1\tdep\t_\tSpaceAfter=No
4\t.\t_\t_\t_\t_\t1\tdep\t_\t_

1\tdu\t_\t_\t_\t_\t0\troot\t_\t_
2-3\tcan't\t_\t_\t_\t_\t_\t_\t_\t_
2\tca\t_\t_\t_\t_\t1\tdep\t_\t_
3\tn't\t_\t_\t_\t_\t1\tdep\t_\t_
4-5\tdon't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
4\tdo\t_\t_\t_\t_\t1\tdep\t_\t_
5\tn't\t_\t_\t_\t_\t1\tdep\t_\t_
6\t!\t_\t_\t_\t_\t1\tdep\t_\t_

# newpar
1\t加速\t_\t_\t_\t_\t0\troot\t_\tSpaceAfter=No
2\t度\t_\t_\t_\t_\t1\tdep\t_\tSpaceAfter=No
3\t。\t_\t_\t_\t_\t1\tdep\t_\tSpaceAfter=No

1-2\tdámelo\t_\t_\t_\t_\t_\t_\t_\t_
1\tda\t_\t_\t_\t_\t0\troot\t_\t_
2\tmelo\t_\t_\t_\t_\t1\tdep\t_\t_
3\tMr.\t_\t_\t_\t_\t1\tdep\t_\t_
4\t10 000\t_\t_\t_\t_\t1\tdep\t_\tSpaceAfter=No
5\t.\t_\t_\t_\t_\t1\tdep\t_\t_

"""


@lru_cache(1)
def gold() -> pa.RecordBatch:
    """The sample and the odd sentences, several times."""
    batch, rejects = parse_bytes(SAMPLE.read_bytes() + ODD.encode() * 6, "sample.conllu")
    assert rejects.num_rows == 0
    return batch


@lru_cache(1)
def learnt() -> tuple[dict[str, object], dict[str, object]]:
    """A model that has learnt a little of everything; its weights are few, so that many features share one."""
    metadata, arrays = learn_segmenter([gold()], SegmentOptions(bits=12, split_epochs=3, end_epochs=3))
    return metadata, arrays  # type: ignore[return-value]


@lru_cache(1)
def small() -> Segmenter:
    metadata, arrays = learnt()
    return Segmenter(metadata, arrays)  # type: ignore[arg-type]

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covington.lemmas.model import Core

class Learner:
    def __init__(
        self, core: Core, forms: pa.StringArray, tag: NDArray[np.uint64], tags: NDArray[np.uint64]
    ) -> None: ...
    def features(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]: ...
    def exact_keys(self, with_all_tags: bool) -> NDArray[np.uint64]: ...
    def learn(
        self,
        order: NDArray[np.int64],
        starts: NDArray[np.int64],
        ids: NDArray[np.int64],
        gold: NDArray[np.int32],
        row_starts: NDArray[np.int32],
        scripts: NDArray[np.int32],
        weights: NDArray[np.int32],
        totals: NDArray[np.int64],
        left: int,
    ) -> int: ...
    def choices(self) -> NDArray[np.int32]: ...

def tag_hashes(
    upos: pa.StringArray, others: list[pa.StringArray]
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]: ...

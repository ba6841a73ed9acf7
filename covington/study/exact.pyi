from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

NODE_LIMIT: int

def search(
    heads: Sequence[int], gold: Sequence[int], i: int, j: int, explicit_root: bool, node_limit: int
) -> tuple[int, int, int]: ...
def study(
    gold: npt.NDArray[np.int32],
    start: npt.NDArray[np.int64],
    sentence: npt.NDArray[np.int32],
    left: npt.NDArray[np.int32],
    right: npt.NDArray[np.int32],
    heads: npt.NDArray[np.int32],
    heads_start: npt.NDArray[np.int64],
    explicit_root: bool,
    node_limit: int,
    result: npt.NDArray[np.int32],
    nodes: npt.NDArray[np.int64],
) -> None: ...

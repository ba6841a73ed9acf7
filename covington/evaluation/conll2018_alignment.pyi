import numpy as np
from numpy.typing import NDArray

class Side:
    def __init__(
        self,
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        shared: NDArray[np.uint8],
        forms: NDArray[np.int32],
    ) -> None: ...

def align(gold: Side, system: Side) -> NDArray[np.int64]: ...

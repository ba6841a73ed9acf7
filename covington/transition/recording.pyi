import numpy as np
import numpy.typing as npt

class Recorder:
    limit: int
    count: int
    def __init__(self, limit: int) -> None: ...
    def arrays(
        self,
    ) -> tuple[
        npt.NDArray[np.int32],
        npt.NDArray[np.int32],
        npt.NDArray[np.int32],
        npt.NDArray[np.int32],
        npt.NDArray[np.int64],
    ]: ...

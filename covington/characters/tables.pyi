import numpy as np
from numpy.typing import NDArray

classes: NDArray[np.uint8]
lower: NDArray[np.int32]
upper: NDArray[np.int32]

def lowercase(text: str) -> str: ...
def uppercase(text: str) -> str: ...

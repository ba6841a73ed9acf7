from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

ARRAYS: tuple[str, ...]

class Core:
    metadata: dict[str, Any]
    def __init__(self, metadata: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None: ...

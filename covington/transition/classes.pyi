from covington.transition.system import System

class Classes:
    labels: int
    count: int
    sizes: tuple[int, ...]
    def __init__(self, system: System, labels: int, own_repairs: bool) -> None: ...

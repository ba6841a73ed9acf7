"""What two texts have in common, from which edit scripts are made."""

from __future__ import annotations


def longest_common(first: str, second: str) -> tuple[int, int, int]:
    """Length and places of the longest piece that both have, the leftmost one."""
    best = (0, 0, 0)
    row = [0] * (len(second) + 1)
    for i, character in enumerate(first):
        before, row = row, [0] * (len(second) + 1)
        for j, other in enumerate(second):
            if character == other:
                row[j + 1] = before[j] + 1
                if row[j + 1] > best[0]:
                    best = (row[j + 1], i + 1 - row[j + 1], j + 1 - row[j + 1])
    return best

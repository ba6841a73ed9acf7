"""What this process has of the machine."""

from __future__ import annotations

import os


def cores() -> int:
    """The processors that this process may use; fewer than there are where a scheduler has bound it to some."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

"""The search for the exact loss of a non-monotonic configuration."""

from libc.stdint cimport int64_t

from covington.study.search_bounds cimport Search, Step

cdef enum:                  # what a search found out
    FAILED = 0
    FOUND = 1
    UNDECIDED = 2
    OUT_OF_NODES = 3
    NO_MEMORY = 4

cdef int search_loss(Search *s, int i, int j, int64_t node_limit, int *loss) noexcept nogil

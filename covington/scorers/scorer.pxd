"""What the greedy loop knows of a scorer, and the lanes that both work on."""

from libc.stdint cimport int32_t, int64_t

from covington.transition.configuration cimport Configuration
from covington.transition.system cimport Moves

cdef enum:
    LANES = 6                   # sentences that are parsed at once, so that one computes while others wait for memory
    NEVER = -0x7FFFFFFF         # the score of a transition that is not allowed


# One sentence on its way.
cdef struct Lane:
    int number
    int64_t sentence            # -1 when the lane is idle
    Configuration c
    Moves moves                 # what is allowed in the configuration


cdef class Scorer:
    cdef readonly int labels
    cdef readonly double scale  # of one unit of a score

    cdef int begin(self, const Lane *lane, int64_t sentence) except -1 nogil
    cdef void score(self, Lane **lanes, int count) noexcept nogil
    cdef void transition_scores(self, const Lane *lane, int32_t *scores) noexcept nogil
    cdef int best_label(self, const Lane *lane, int transition) noexcept nogil
    cdef void forget(self, const Lane *lane) noexcept nogil

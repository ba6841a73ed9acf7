"""Parsing one sentence whose words have been projected."""

from libc.stdint cimport int16_t, int32_t, int64_t

from covington.network.integers cimport Integers
from covington.state cimport Configuration


# Where a sentence's words are among the rows of a group, which are in the order of time (see floats).
cdef struct Projected:
    const int16_t *rows
    int64_t row                     # numbers of one
    const int64_t *starts           # of the times
    int64_t number                  # of the sentence in the group


cdef void parse(const Integers *w, Configuration *c, const Projected *s, int n, bint single_root, int32_t *heads,
                int32_t *labels, float *confidence) noexcept nogil

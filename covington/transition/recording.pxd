"""Configurations met in training, written down for the study of the bounds."""

from libc.stdint cimport int32_t, int64_t

from covington.transition.configuration cimport Configuration


cdef class Recorder:
    cdef readonly int64_t limit
    cdef readonly int64_t count
    cdef int64_t sentence           # whose configurations are being noted
    cdef int32_t *places            # [3 * limit]: sentence, i, j
    cdef int64_t *ends              # [limit]: where the heads of a configuration end
    cdef int32_t *heads
    cdef int64_t room

    cdef bint is_full(self) noexcept nogil
    cdef int note(self, const Configuration *c) except -1 nogil

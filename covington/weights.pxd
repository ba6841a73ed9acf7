"""The perceptron's weights while it learns: a hash table of short rows of (class, weight)."""

from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t

cdef enum:
    UNIT = 1024     # one update; weights are multiples of 1/1024, so that mixing is exact integer arithmetic


cdef struct Slot:
    uint64_t key            # 0 is an empty place
    uint32_t start          # its first entry
    uint16_t size
    uint16_t room


cdef struct Entry:
    int32_t weight
    uint16_t number         # of the class
    uint16_t unused


cdef class Weights:
    cdef Slot *slots
    cdef uint64_t mask
    cdef int64_t rows
    cdef Entry *entries
    cdef int64_t *late              # by entry: Σ (steps before an update) · update, what a running sum would lack
    cdef int64_t entries_used
    cdef int64_t entries_room
    cdef int64_t[17] free_rows      # by log2 of their room; -1 ends the chain
    cdef readonly int classes
    cdef readonly int64_t steps     # transitions scored: the number of weight vectors in the average
    cdef readonly int64_t updates

    cdef void score(self, const uint64_t *keys, int count, int64_t *scores) noexcept nogil
    cdef int update(self, const uint64_t *keys, int count, int number, int32_t change) except -1 nogil
    cdef Slot *find(self, uint64_t key) noexcept nogil
    cdef int64_t place(self, uint64_t key, int number) except -1 nogil
    cdef int grow_slots(self) except -1 nogil
    cdef int grow_entries(self) except -1 nogil
    cdef int grow_row(self, Slot *slot) except -1 nogil
    cdef Weights copy(self)
    cdef int add(self, Weights other, int64_t times) except -1 nogil
    cdef void settle(self, int64_t divisor, int64_t steps) noexcept nogil
    cdef void sort_row(self, Slot *slot) noexcept nogil
    cdef int count_in(self, Weights other) except -1 nogil

"""The perceptron's weights while it learns: a hash table of rows of (class, weight).

Most rows are short. One that has grown to a quarter of the classes becomes *full*: it has them all, in their order, and
in the memory of its entries there are first the weights alone, then the marks of those that were updated.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

cdef enum:
    UNIT = 1024     # one update; weights are multiples of 1/1024, so that mixing is exact integer arithmetic
    ROOMS = 17      # sizes that the room of a row may have, all powers of two


cdef struct Slot:
    uint64_t key            # 0 is an empty place
    uint32_t start          # its first entry
    uint16_t size           # as many as there are classes in a full row
    uint8_t room            # the logarithm of its room, and one more; 0 is none
    uint8_t noted           # is it among the rows that have changed?


# A weight of a row that is not full.
cdef struct Entry:
    int32_t weight
    uint16_t number         # of the class
    uint16_t noted          # was it updated in this table?


# What an update does to the weights of a class.
cdef struct Change:
    int number
    int32_t change


@cython.final
cdef class Weights:
    cdef Slot *slots
    cdef uint64_t slots_room
    cdef uint64_t slots_there       # at least as many, of which the first are in use
    cdef int64_t rows
    cdef Entry *entries
    cdef int64_t *late              # by entry: Σ (steps before an update) · update, what a running sum would lack
    cdef int64_t entries_used
    cdef int64_t entries_room
    cdef int64_t[ROOMS] free_rows      # by the logarithm of their room; -1 ends the chain
    cdef uint64_t *notes            # the keys of rows that were updated
    cdef int64_t noted
    cdef int64_t notes_room
    cdef readonly int classes
    cdef readonly int64_t steps     # transitions scored: the number of weight vectors in the average
    cdef readonly int64_t updates

    cdef void score(self, const uint64_t *keys, int count, int64_t *scores) noexcept nogil
    cdef int update(self, const uint64_t *keys, int count, const Change *changes, int changed) except -1 nogil
    cdef Slot *home(self, uint64_t key) noexcept nogil
    cdef Slot *find(self, uint64_t key) noexcept nogil
    cdef bint has_room_for(self, int64_t more) noexcept nogil
    cdef int reserve(self, int64_t more) except -1 nogil
    cdef Slot *make_row(self, uint64_t key) except NULL nogil
    cdef int64_t make_entry(self, Slot *slot, int number) except -1 nogil
    cdef int note(self, Slot *slot) except -1 nogil
    cdef int grow_slots(self) except -1 nogil
    cdef int grow_entries(self) except -1 nogil
    cdef int64_t take_entries(self, int64_t room) except -1 nogil
    cdef void give_back(self, const Slot *slot) noexcept nogil
    cdef int grow_row(self, Slot *slot) except -1 nogil
    cdef int fill_row(self, Slot *slot) except -1 nogil
    cdef void mark(self, const Slot *slot, int64_t place) noexcept nogil
    cdef bint is_marked(self, const Slot *slot, int64_t place) noexcept nogil
    cdef void wipe(self, const Slot *slot) noexcept nogil
    cdef void sort_row(self, Slot *slot) noexcept nogil
    cdef dict arrays_of(self, wanted, bint only_noted)

    cdef inline bint is_full(self, const Slot *slot) noexcept nogil:
        return slot.size == self.classes

    cdef inline int32_t *full_row(self, const Slot *slot) noexcept nogil:
        """The weights of a full row, and behind them its marks."""
        return <int32_t *>(self.entries + slot.start)

    cdef inline int32_t *weight_at(self, const Slot *slot, int64_t place) noexcept nogil:
        if self.is_full(slot):
            return self.full_row(slot) + (place - slot.start)
        return &self.entries[place].weight

"""A gold tree as oracles look at it."""

from libc.stdint cimport int32_t


# Left dependents are chained so that the cost of Shift is a short walk.
cdef struct Gold:
    int n
    int32_t *head               # [n + 2], -1 at 0
    int32_t *label
    int32_t *left_dependent     # nearest gold left dependent of a word, 0 for none
    int32_t *next_left          # the next one, farther away
    int32_t *leftmost           # the leftmost gold partner of a word to its left, or the word itself
    int room                    # words that the arrays have room for


cdef int reserve_gold(Gold *gold, int n) except -1 nogil
cdef void release_gold(Gold *gold) noexcept nogil
cdef void index_gold(Gold *gold, int first) noexcept nogil

"""Cycles in A ∪ I, the graph of built arcs and gold arcs that can still be built."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset


# Memory of one thread for looking at graphs; `reserve_scratch` makes room for n words.
cdef struct Scratch:
    int capacity
    void *memory
    int32_t *head           # a copy of A with one transition applied
    int32_t *hope           # gold head of a word if that arc is in I but not in A, else 0
    int32_t *stack
    int32_t *live           # the words that may lie on a cycle
    int32_t *mark           # equal to `stamp` when visited
    int32_t stamp
    uint8_t *edge           # which of its two heads a word on the stack goes to: 0 in A, 1 in I
    uint8_t *found
    uint8_t *blocked
    uint8_t *waiting        # bit k: blocked until the word at the end of edge k is free again
    uint8_t *alive


cdef int reserve_scratch(Scratch *scratch, int n) except -1 nogil
cdef void release_scratch(Scratch *scratch) noexcept nogil
cdef bint reaches(const int32_t *head, const int32_t *gold, int i, int j, int word, int target,
                  Scratch *scratch) noexcept nogil
cdef int64_t count_cycles(int n, const int32_t *head, const int32_t *gold, int i, int j, bint problematic,
                          int64_t limit, Scratch *scratch) noexcept nogil


cdef inline bint is_lost(int x, int y, int i, int j) noexcept nogil:
    """Is it too late to build an arc between x and y with the focus words on i and j?"""
    cdef int right = x if x > y else y
    cdef int left = x if x < y else y
    return right < j or (right == j and left > i)


cdef inline int hoped_head(const int32_t *head, const int32_t *gold, int word, int i, int j) noexcept nogil:
    """The gold head of a word if it is a word and that arc can still be built, else 0."""
    cdef int wanted = gold[word]
    if wanted < 1 or wanted == head[word] or is_lost(wanted, word, i, j):
        return 0
    return wanted


cdef inline void spare_stamps(Scratch *scratch, int wanted) noexcept nogil:
    """Begin anew with stamps before they run out: a long training uses thousands of millions."""
    if scratch.stamp > 0x7FFFFFFF - wanted - 1:
        memset(scratch.mark, 0, (scratch.capacity + 2) * sizeof(int32_t))
        scratch.stamp = 0

"""Memory of one search for the exact loss, and the bounds it cuts by."""

from libc.stdint cimport int32_t, int64_t, uint64_t


# One pair of words on the way down, and what its last move changed.
cdef struct Step:
    int i
    int j
    int move
    int departures          # how often the search may still leave the default path
    int word                # whose head was set, 0 for none
    int old_head
    int freed               # whose arc gave way to break a cycle, 0 for none
    int freed_head


# 128 bits stand for the arcs and the place; `round` says which search they belong to.
cdef struct Visited:
    uint64_t first_key
    uint64_t second_key
    uint64_t round


cdef struct Search:
    int n
    int first               # where λ1 starts: 0 (explicit root) or 1 (implicit)
    int nothing             # the head of a word that has none: -1 (explicit) or 0 (implicit)
    int capacity
    int32_t *memory
    int32_t *head
    int32_t *gold
    int32_t *trial
    int32_t *event_left     # the gold arcs in Covington's order
    int32_t *event_right
    int32_t *event_word
    int events
    Step *steps
    int room
    Visited *table
    uint64_t table_size
    uint64_t visited
    uint64_t round
    uint64_t first_key
    uint64_t second_key
    int64_t nodes
    int64_t node_limit
    int lowest
    int highest


cdef int prepare(Search *s, int n) noexcept nogil
cdef void dispose(Search *s) noexcept nogil
cdef void order_events(Search *s) noexcept nogil
cdef int lower_bound(const Search *s, int i, int j) noexcept nogil
cdef int attained(Search *s, int i, int j, bint *certain) noexcept nogil

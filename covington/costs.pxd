"""What each transition costs: the loss of the configuration it leads to, relative to the loss now."""

from libc.stdint cimport int32_t, int64_t

from covington.cycles cimport Scratch

cdef enum Oracle:      # by name: ORACLES
    STATIC = 0
    MONOTONIC = 1       # up to here those of the monotonic system
    LOWER = 2
    PC_UPPER = 3
    UPPER = 4

cdef enum:
    FORBIDDEN = 0x3FFFFFFF      # the cost of a transition that the system does not allow


# A gold tree; left dependents are chained so that the cost of Shift is a short walk.
cdef struct Gold:
    int n
    int32_t *head               # [n + 2], -1 at 0
    int32_t *label
    int32_t *left_dependent     # nearest gold left dependent of a word, 0 for none
    int32_t *next_left          # the next one, farther away
    int32_t *leftmost           # the leftmost gold partner of a word to its left, or the word itself


# Where the parser is, as far as the oracle needs to know.
cdef struct Focus:
    const int32_t *head
    int i
    int j
    int first
    int nothing
    int wrong                   # arcs in A that are not gold: without one there is no cycle in A ∪ I


cdef struct Costs:
    int32_t loss[4]             # by Transition
    int32_t best
    bint left_is_gold
    bint right_is_gold


cdef void index_gold(Gold *gold, int first) noexcept nogil
cdef void static_costs(Costs *costs, const Gold *gold, const Focus *at) noexcept nogil
cdef void monotonic_costs(Costs *costs, const Gold *gold, const Focus *at, Scratch *scratch) noexcept nogil
cdef void non_monotonic_costs(Costs *costs, const Gold *gold, const Focus *at, int oracle, bint complete,
                              Scratch *scratch) noexcept nogil

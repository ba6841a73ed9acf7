"""What the transitions of Covington cost: the loss of the configuration each leads to, relative to the loss now."""

from libc.stdint cimport int32_t

from covington.transition.cycles cimport Scratch
from covington.transition.gold cimport Gold
from covington.transition.system cimport Costs

cdef enum OracleKind:        # in the order of names.ORACLES
    STATIC = 0
    MONOTONIC = 1
    LOWER = 2
    PC_UPPER = 3
    UPPER = 4

# Where the parser is, as far as the oracle needs to know.
cdef struct Focus:
    const int32_t *head
    int i
    int j
    int first
    int nothing
    bint wrong                  # is there an arc in A that is not gold? Without one there is no cycle in A ∪ I


cdef void static_costs(Costs *costs, const Gold *gold, const Focus *at) noexcept nogil
cdef void monotonic_costs(Costs *costs, const Gold *gold, const Focus *at, Scratch *scratch) noexcept nogil
cdef void non_monotonic_costs(Costs *costs, const Gold *gold, const Focus *at, int oracle, bint complete,
                              Scratch *scratch) noexcept nogil

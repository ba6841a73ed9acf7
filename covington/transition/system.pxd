"""What the decoder, the learner and the templates know of a transition system, and of an oracle for it.

A transition has a number, from 0. The first ones build no arc; each of the others builds one arc, with a label.
A few calls are made per step and none per label, so a call through the table of methods costs nothing that shows.
"""

from libc.stdint cimport int32_t, uint32_t

from covington.transition.configuration cimport Configuration
from covington.transition.gold cimport Gold

cdef enum:
    MAX_TRANSITIONS = 8         # of one system
    FORBIDDEN = 0x3FFFFFFF      # the cost of a transition that the system does not allow

# What System.forced says besides the number of a transition.
cdef enum:
    CHOICE = -1                 # several transitions are allowed
    FINAL = -2                  # none is: the sentence is done


# What a system allows in a configuration, by the bits of the transitions.
cdef struct Moves:
    uint32_t allowed
    uint32_t repairs            # those that would take another arc away


cdef struct Arc:
    int head
    int dependent


# The words around the focus that templates ask for; `nobody` where there is none.
cdef struct Surroundings:
    int32_t left[3]             # the left focus word, and the words that follow it when it moves on
    int32_t right[4]            # the right focus word, and the words that follow it
    int32_t after_left          # the neighbours of the focus words in the sentence
    int32_t before_right


cdef class System:
    cdef readonly str name
    cdef readonly tuple transitions     # names, by number
    cdef readonly int unlabelled        # so many, the first ones, build no arc
    cdef readonly int count
    cdef readonly bint explicit_root
    cdef readonly bint repairs          # can an arc take another one away?

    cdef void start(self, Configuration *c, int n) noexcept nogil
    cdef int forced(self, const Configuration *c) noexcept nogil
    cdef Moves moves(self, const Configuration *c) noexcept nogil
    cdef Arc arc(self, const Configuration *c, int transition) noexcept nogil
    cdef int apply(self, Configuration *c, int transition, int label) noexcept nogil
    cdef void look_around(self, const Configuration *c, Surroundings *around) noexcept nogil
    cdef int turn_to(self, Configuration *c, int head, int dependent) noexcept nogil


cdef struct Costs:
    int32_t loss[MAX_TRANSITIONS]
    int32_t best                # the lowest of them
    uint32_t gold               # the transitions that build a gold arc, by their bits


cdef class Oracle:
    cdef readonly str name
    cdef readonly bint explores         # does it know what to do in configurations that gold transitions do not reach?

    cdef int prepare(self, int n) except -1 nogil
    cdef void costs(self, Costs *costs, const Gold *gold, const Configuration *c, bint complete) noexcept nogil
    cdef bint is_last_chance(self, const Gold *gold, const Configuration *c, int dependent) noexcept nogil


cdef inline uint32_t bit(int transition) noexcept nogil:
    return <uint32_t>1 << transition


cdef inline void note_best(Costs *costs, int count) noexcept nogil:
    cdef int transition
    costs.best = costs.loss[0]
    for transition in range(1, count):
        if costs.loss[transition] < costs.best:
            costs.best = costs.loss[transition]

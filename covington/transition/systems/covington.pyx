"""Covington's transition system, monotonic and non-monotonic, with the oracles of the paper.

The focus words say all there is to say about the three lists: λ1 is `first`..i, λ2 is i+1..j-1 and B is j..n.
"""

cimport cython
from libc.stdint cimport int32_t

from covington.transition.configuration cimport (
    LEFT_ARC, NO_ARC, RIGHT_ARC, SHIFT, Configuration, find_open_words, is_repair, left_arc, no_arc, right_arc, shift, start,
)
from covington.transition.costs cimport (
    LOWER, MONOTONIC, STATIC, Focus, monotonic_costs, non_monotonic_costs, static_costs,
)
from covington.transition.cycles cimport Scratch, is_lost, release_scratch, reserve_scratch
from covington.transition.gold cimport Gold
from covington.transition.system cimport (
    CHOICE, FINAL, Arc, Costs, Moves, Oracle, Surroundings, System, bit,
)

from covington.transition import names


@cython.final
cdef class Covington(System):
    """⟨λ1, λ2, B, A⟩ with Shift, NoArc, LeftArc and RightArc; each is described where configurations are."""
    cdef bint monotonic

    def __cinit__(self, bint monotonic, bint explicit_root):
        self.name = names.SYSTEMS[0 if monotonic else 1]
        self.transitions = names.TRANSITIONS
        self.count = len(names.TRANSITIONS)
        self.unlabelled = LEFT_ARC
        self.explicit_root = explicit_root
        self.monotonic = monotonic
        self.repairs = not monotonic

    cdef void start(self, Configuration *c, int n) noexcept nogil:
        start(c, n, self.explicit_root)

    cdef int forced(self, const Configuration *c) noexcept nogil:
        if c.j > c.n:
            return FINAL
        return CHOICE if c.i >= c.first else SHIFT

    cdef Moves moves(self, const Configuration *c) noexcept nogil:
        cdef Moves moves = Moves(bit(SHIFT) | bit(NO_ARC) | bit(RIGHT_ARC), 0)
        if c.i > 0:
            moves.allowed |= bit(LEFT_ARC)
            if is_repair(c, LEFT_ARC):
                moves.repairs |= bit(LEFT_ARC)
        if is_repair(c, RIGHT_ARC):
            moves.repairs |= bit(RIGHT_ARC)
        if self.monotonic:
            moves.allowed &= ~moves.repairs
            moves.repairs = 0
        return moves

    cdef Arc arc(self, const Configuration *c, int transition) noexcept nogil:
        return Arc(c.j, c.i) if transition == LEFT_ARC else Arc(c.i, c.j)

    cdef int apply(self, Configuration *c, int transition, int label) noexcept nogil:
        if transition == LEFT_ARC:
            return left_arc(c, label)
        if transition == RIGHT_ARC:
            return right_arc(c, label)
        if transition == SHIFT:
            shift(c)
        else:
            no_arc(c)
        return 0

    cdef void look_around(self, const Configuration *c, Surroundings *around) noexcept nogil:
        around.left[0] = c.i
        around.left[1] = c.i - 1 if c.i - 1 >= c.first else c.nobody
        around.left[2] = c.i - 2 if c.i - 2 >= c.first else c.nobody
        around.right[0] = c.j
        around.right[1] = c.j + 1
        around.right[2] = c.j + 2 if c.j + 2 <= c.n else c.nobody
        around.right[3] = c.j + 3 if c.j + 3 <= c.n else c.nobody
        around.after_left = c.i + 1
        around.before_right = c.j - 1 if c.j - 1 >= c.first else c.nobody

    cdef int turn_to(self, Configuration *c, int head, int dependent) noexcept nogil:
        c.i = min(head, dependent)
        c.j = max(head, dependent)
        find_open_words(c)
        return LEFT_ARC if dependent < head else RIGHT_ARC


@cython.final
cdef class CovingtonOracle(Oracle):
    """The static, the monotonic dynamic or one of the three non-monotonic approximate oracles."""
    cdef int kind
    cdef Scratch scratch

    def __cinit__(self, str name):
        self.name = name
        self.kind = names.ORACLES.index(name)
        self.explores = self.kind != STATIC

    def __dealloc__(self):
        release_scratch(&self.scratch)

    cdef int prepare(self, int n) except -1 nogil:
        return reserve_scratch(&self.scratch, n)

    cdef void costs(self, Costs *costs, const Gold *gold, const Configuration *c, bint complete) noexcept nogil:
        cdef Focus at = Focus(c.head, c.i, c.j, c.first, c.nothing, False)
        if self.kind == STATIC:
            static_costs(costs, gold, &at)
            return
        if self.kind != LOWER:
            at.wrong = has_wrong_arc(c, gold)
        if self.kind == MONOTONIC:
            monotonic_costs(costs, gold, &at, &self.scratch)
        else:
            non_monotonic_costs(costs, gold, &at, self.kind, complete, &self.scratch)

    cdef bint is_last_chance(self, const Gold *gold, const Configuration *c, int dependent) noexcept nogil:
        return is_lost(gold.head[dependent], dependent, c.i - 1, c.j)


cdef bint has_wrong_arc(const Configuration *c, const Gold *gold) noexcept nogil:
    cdef int word, wrong = 0
    for word in range(1, c.n + 1):
        wrong |= (c.head[word] != c.nothing) & (c.head[word] != gold.head[word])
    return wrong


def make_system(str oracle, bint explicit_root):
    """The system that an oracle is for."""
    return Covington(oracle in names.MONOTONIC_ORACLES, explicit_root)


def make_oracle(str oracle, bint explicit_root):
    """An oracle with a workspace of its own."""
    return CovingtonOracle(oracle)

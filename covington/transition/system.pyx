"""Transition systems and oracles as the rest of the package sees them; `systems` has those that there are."""

from covington.transition.configuration cimport (
    Configuration, attach, find_open_words, release, reserve,
)
from covington.transition.gold cimport Gold


cdef class System:
    """A transition system: which transitions a configuration allows, and what they do to it."""

    cdef void start(self, Configuration *c, int n) noexcept nogil:
        """Set up the initial configuration of a sentence of n words; there is room for it."""

    cdef int forced(self, const Configuration *c) noexcept nogil:
        """The only transition that is allowed, CHOICE where there are several, FINAL where there is none."""
        return FINAL

    cdef Moves moves(self, const Configuration *c) noexcept nogil:
        """What is allowed where there is a choice."""
        return Moves(0, 0)

    cdef Arc arc(self, const Configuration *c, int transition) noexcept nogil:
        """The arc that a labelled transition would build."""
        return Arc(0, 0)

    cdef int apply(self, Configuration *c, int transition, int label) noexcept nogil:
        """Make a transition that is allowed; returns what was taken away (configuration.Removed)."""
        return 0

    cdef void look_around(self, const Configuration *c, Surroundings *around) noexcept nogil:
        """The words around the focus words; there are two of these."""

    cdef int turn_to(self, Configuration *c, int head, int dependent) noexcept nogil:
        """Put the focus on two words; returns the transition that would join them."""
        return 0

    def apply_to(self, heads, int i, int j, int transition):
        """The configuration (heads, i, j) that a transition leads to; None where it is not allowed.

        The caller has checked that heads, i and j are a configuration of the system.
        """
        cdef Configuration c
        cdef int word, n = len(heads), forced
        c.memory = NULL
        reserve(&c, n)
        try:
            self.start(&c, n)
            c.i, c.j = i, j
            for word in range(1, n + 1):
                attach(&c, word, heads[word - 1], -1)
            find_open_words(&c)
            forced = self.forced(&c)
            if forced != transition and (forced != CHOICE or not self.moves(&c).allowed & bit(transition)):
                return None
            self.apply(&c, transition, -1)
            return [c.head[word] for word in range(1, n + 1)], c.i, c.j
        finally:
            release(&c)


cdef class Oracle:
    """What each transition costs, for one system; with the workspace of one thread."""

    cdef int prepare(self, int n) except -1 nogil:
        """Make room for a sentence of n words."""
        return 0

    cdef void costs(self, Costs *costs, const Gold *gold, const Configuration *c, bint complete) noexcept nogil:
        """The loss after each transition, up to a constant that all of them share.

        Unless the costs are to be complete, those of a transition that cannot be optimal may come out too low.
        """

    cdef bint is_last_chance(self, const Gold *gold, const Configuration *c, int dependent) noexcept nogil:
        """Can the gold arc into a word no longer be built once the focus has moved on?"""
        return True

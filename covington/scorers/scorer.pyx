"""Scorers: which transition a model prefers in a configuration, and with which label."""


cdef class Scorer:
    """A model at work for one decoder, with the workspace of one thread.

    For every sentence the decoder calls `begin` once. For every step it calls `score` with all lanes that have a choice
    to make, so that a scorer can fetch what one lane needs while it computes for another; then it asks each lane for the
    scores of its transitions and for the label of the one that it takes.
    """

    def load(self, sentences):
        """The encoded sentences that are parsed from now on."""
        raise TypeError(f"{type(self).__name__} loads nothing")

    cdef int begin(self, const Lane *lane, int64_t sentence) except -1 nogil:
        """Prepare for a sentence, whose initial configuration is in the lane."""
        return 0

    cdef void score(self, Lane **lanes, int count) noexcept nogil:
        """Compute the scores of these lanes in their configurations."""

    cdef void transition_scores(self, const Lane *lane, int32_t *scores) noexcept nogil:
        """The score of every transition, with its best label; NEVER for one that is not allowed."""

    cdef int best_label(self, const Lane *lane, int transition) noexcept nogil:
        """The best label of a transition that has one; the first if there are several."""
        return 0

    cdef void forget(self, const Lane *lane) noexcept nogil:
        """The configuration has changed by other means than a transition."""

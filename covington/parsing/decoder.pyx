"""The greedy loop: several sentences in lanes, a transition system, and a scorer; the GIL released."""

cimport cython
from libc.math cimport NAN
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from covington.scorers.scorer cimport LANES, NEVER, Lane, Scorer
from covington.transition.configuration cimport (
    CYCLE_ARC, OLD_HEAD, attach, detach, label_at, release, reserve, set_label,
)
from covington.transition.system cimport CHOICE, FINAL, MAX_TRANSITIONS, Arc, System

import numpy as np


# What is done next: a transition, its label and its score, and its lead over the next best transition.
cdef struct Step:
    int transition
    int label                   # -1 where the transition has none
    int32_t score
    int32_t margin


# What was done, for the statistics.
cdef struct Counts:
    int64_t taken[MAX_TRANSITIONS]
    int64_t repairs             # arcs that took another one away
    int64_t repairs_to_gold
    int64_t harmful_repairs     # those that took a gold arc away and built a wrong one


@cython.final
cdef class Decoder:
    """A system and a scorer, with the workspace of one thread."""
    cdef System system
    cdef Scorer scorer
    cdef int root_label
    cdef bint single_root
    cdef Lane lanes[LANES]
    cdef Counts counts
    cdef list steps             # of the sentence that is being traced

    def __cinit__(self, System system, Scorer scorer, int root_label):
        cdef int l
        self.system = system
        self.scorer = scorer
        self.root_label = root_label
        for l in range(LANES):
            self.lanes[l].number = l
            self.lanes[l].sentence = -1

    def __dealloc__(self):
        cdef int l
        for l in range(LANES):
            release(&self.lanes[l].c)

    def run(self, sentences, int64_t first, int64_t last, int64_t longest, bint single_root,
            int32_t[::1] heads, int32_t[::1] labels, float[::1] margins=None, const int32_t[::1] gold=None):
        """Parse the sentences first..last-1; longer ones than `longest` are left as they are."""
        cdef const int64_t[::1] offsets = sentences.offsets
        cdef int64_t following = first, base
        cdef int working = LANES, l
        cdef Step step
        cdef Lane *lane
        cdef Lane *at_work[LANES]       # those that have a choice to make
        if sentences.tokens == 0:
            return
        self.single_root = single_root
        self.scorer.load(sentences)
        with nogil:
            while working > 0:
                working = 0
                for l in range(LANES):
                    lane = &self.lanes[l]
                    while lane.sentence < 0 or not self.advance(lane):
                        if lane.sentence >= 0:
                            base = offsets[lane.sentence]
                            self.finish(lane, &heads[base] - 1, &labels[base] - 1,
                                        NULL if margins is None else &margins[base] - 1)
                        while following < last and not 0 < offsets[following + 1] - offsets[following] <= longest:
                            following += 1
                        if following == last:
                            break
                        self.begin(lane, following, <int>(offsets[following + 1] - offsets[following]))
                        following += 1
                    if lane.sentence >= 0:
                        at_work[working] = lane
                        working += 1
                self.scorer.score(at_work, working)
                for l in range(working):
                    lane = at_work[l]
                    base = offsets[lane.sentence]
                    self.decide(lane, &step)
                    if self.steps is not None:
                        with gil:
                            self.steps.append((lane.c.i, lane.c.j, step.transition, step.label, step.score, step.margin))
                    self.take(lane, &step, NULL if gold is None else &gold[base] - 1,
                              NULL if margins is None else &margins[base] - 1)

    cdef int begin(self, Lane *lane, int64_t sentence, int n) except -1 nogil:
        """Put a sentence into a lane."""
        reserve(&lane.c, n)
        self.system.start(&lane.c, n)
        self.scorer.begin(lane, sentence)
        lane.sentence = sentence
        return 0

    cdef bint advance(self, Lane *lane) noexcept nogil:
        """Make the transitions that are forced; is there a choice after them?"""
        cdef int transition = self.system.forced(&lane.c)
        while transition >= 0:
            self.counts.taken[transition] += 1
            self.system.apply(&lane.c, transition, -1)
            transition = self.system.forced(&lane.c)
        return transition != FINAL

    cdef void decide(self, Lane *lane, Step *best) noexcept nogil:
        """The best transition that is allowed, the first if there are several, with its best label."""
        cdef int32_t scores[MAX_TRANSITIONS]
        cdef int32_t second = NEVER
        cdef int transition
        lane.moves = self.system.moves(&lane.c)
        self.scorer.transition_scores(lane, scores)
        best.transition, best.score = 0, scores[0]
        for transition in range(1, self.system.count):
            if scores[transition] > best.score:
                second = best.score
                best.transition, best.score = transition, scores[transition]
            elif scores[transition] > second:
                second = scores[transition]
        best.margin = best.score - second
        best.label = self.scorer.best_label(lane, best.transition) if best.transition >= self.system.unlabelled else -1

    cdef void take(self, Lane *lane, const Step *step, const int32_t *gold, float *margins) noexcept nogil:
        """Make a transition and count what it does; `gold` and `margins` are by word."""
        cdef Arc arc
        cdef int old, above, removed
        self.counts.taken[step.transition] += 1
        if step.transition < self.system.unlabelled:
            self.system.apply(&lane.c, step.transition, -1)
            return
        arc = self.system.arc(&lane.c, step.transition)
        old, above = lane.c.head[arc.dependent], lane.c.head[arc.head]
        removed = self.system.apply(&lane.c, step.transition, step.label)
        if margins != NULL:
            margins[arc.dependent] = <float>step.margin
            if removed & CYCLE_ARC:
                margins[arc.head] = NAN         # the new head has lost its own
        if removed:
            self.counts.repairs += 1
            if gold != NULL:
                if arc.head == gold[arc.dependent]:
                    self.counts.repairs_to_gold += 1
                elif (removed & OLD_HEAD and old == gold[arc.dependent]) or (removed & CYCLE_ARC and above == gold[arc.head]):
                    self.counts.harmful_repairs += 1

    cdef void finish(self, Lane *lane, int32_t *heads, int32_t *labels, float *margins) noexcept nogil:
        """Make a tree of the forest, and hand it over: words without a head hang from the root, or from its one dependent.

        That one is the first that the parser has attached to the root, or else the first without a head.
        """
        cdef int word, root = 0
        for word in range(lane.c.n, 0, -1):
            if lane.c.head[word] <= 0 and (root == 0 or lane.c.head[word] >= lane.c.head[root]):
                root = word
        for word in range(1, lane.c.n + 1):
            if lane.c.head[word] > 0:
                continue
            if self.single_root and word != root:
                self.hang(lane, word, root)
                if margins != NULL:
                    margins[word] = NAN
            else:
                lane.c.head[word] = 0
                if label_at(&lane.c, word) < 0:
                    set_label(&lane.c, word, self.root_label)
        for word in range(1, lane.c.n + 1):
            heads[word] = lane.c.head[word]
            labels[word] = label_at(&lane.c, word)
        lane.sentence = -1

    cdef void hang(self, Lane *lane, int word, int root) noexcept nogil:
        """Attach a left-over word to the root's dependent, with the label that the model likes best there."""
        cdef int transition
        detach(&lane.c, word)
        transition = self.system.turn_to(&lane.c, root, word)
        self.scorer.forget(lane)
        self.scorer.score(&lane, 1)
        attach(&lane.c, word, root, self.scorer.best_label(lane, transition))

    def take_counts(self):
        """(transitions by number, repairs, repairs to gold, harmful repairs) since the last call."""
        taken = [self.counts.taken[transition] for transition in range(self.system.count)]
        counts = taken, self.counts.repairs, self.counts.repairs_to_gold, self.counts.harmful_repairs
        memset(&self.counts, 0, sizeof(self.counts))
        return counts

    def trace(self, sentences):
        """The steps of the first sentence: (i, j, transition, label, score, margin)."""
        words = np.empty(sentences.tokens, dtype=np.int32)
        self.steps = []
        try:
            self.run(sentences, 0, 1, 1 << 30, True, words, words.copy())
            return self.steps
        finally:
            self.steps = None

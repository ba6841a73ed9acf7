"""The greedy loop: parse encoded sentences with frozen weights, the GIL released.

Scores of templates that depend on one focus word alone are kept per word. Those that also look at the arcs around
it are kept together with the values they were made from, and made again only when one of these has changed.

A model is larger than the processor's caches, so most of the time of a plain loop would go into waiting for memory.
Several sentences are therefore parsed at once, in lanes that take turns: while the weights that one lane has asked
for are on their way, the others compute. What comes out does not depend on it.
"""

from libc.math cimport NAN
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy, memset

from covington.features cimport (
    FIRST_OPEN, GROUPS, LAST_OPEN, LEFT_ARCS, LEFT_WORD, MOST_CELLS, MOST_KEYS, PAIR, RIGHT_ARCS, RIGHT_WORD, Group,
    Program, load_cells, make_keys,
)
from covington.frozen cimport Found, FrozenWeights
from covington.machine cimport covington_prefetch  # brings COVINGTON_CLONES
from covington.sentences cimport Sentences, length_of, values_of
from covington.state cimport (
    CYCLE_ARC, LEFT_ARC, NO_ARC, RIGHT_ARC, SHIFT, Configuration, attach, detach, find_open_words, first_class,
    left_arc, left_arc_is_monotonic, no_arc, release, reserve, right_arc, right_arc_is_monotonic, shift, start,
)

import numpy as np

from covington.errors import ModelError

cdef enum:
    LANES = 8
    NEVER = -0x7FFFFFFF
    NON_MONOTONIC = 4           # in `counts`, after the four transitions
    REPAIRS_TO_GOLD = 5
    REPAIRS_HARMFUL = 6
    COUNTED = 7

COUNTS = (
    "shift", "no_arc", "left_arc", "right_arc", "non_monotonic", "repairs_to_gold", "repairs_harmful",
)


cdef extern from *:
    """
    /* The two parts of a focus word's scores lie behind one another. */
    COVINGTON_CLONES static void covington_sum(
        int32_t *sum, const int32_t *left, const int32_t *right, const int32_t *first, const int32_t *last, int count
    ) {
        for (int k = 0; k < count; k++)
            sum[k] = left[k] + left[count + k] + right[k] + right[count + k] + first[k] + last[k];
    }
    """
    void covington_sum(int32_t *sum, const int32_t *left, const int32_t *right, const int32_t *first,
                       const int32_t *last, int count) noexcept nogil


# What is kept of one word as a focus word; its scores are elsewhere.
cdef struct Kept:
    uint64_t cells[MOST_CELLS]      # the values that the arcs' part was made from
    bint has_word
    bint has_arcs
    bint has_first_open             # its scores as CL, and as CR
    bint has_last_open


# One sentence on its way. `keys` and `found` hold what is being looked up, group by group.
cdef struct Lane:
    Configuration c
    int64_t sentence                # -1 when the lane is idle
    const uint64_t *values
    int room                        # words the arrays have room for
    Kept *left_kept                 # by word
    int32_t *left_scores            # by word: the word's part, then the arcs' part
    int32_t *open_scores            # by word: as CL, then as CR
    Kept right_kept
    int32_t *right_scores
    int32_t *scores
    int counts[GROUPS]              # keys per group, 0 where the kept scores still hold
    uint64_t keys[MOST_KEYS]
    bint known[MOST_KEYS]
    Found found[MOST_KEYS]


cdef class Decoder:
    """A model and the workspace of one thread."""
    cdef FrozenWeights weights
    cdef Program program
    cdef int labels
    cdef bint explicit_root
    cdef bint monotonic
    cdef bint own_repairs           # do arcs that replace another have classes of their own?
    cdef bint single_root
    cdef int root_label
    cdef Lane lanes[LANES]
    cdef int64_t counts[COUNTED]
    cdef list steps                 # of the sentence that is being traced

    def __cinit__(self, FrozenWeights weights, Program program, int labels, bint explicit_root, bint monotonic,
                  bint own_repairs, bint single_root, int root_label):
        cdef int lane
        if labels < 1 or weights.classes != 2 + (4 if own_repairs else 2) * labels or not 0 <= root_label < labels:
            raise ModelError(f"a model with {weights.classes} classes does not fit {labels} labels")
        self.weights = weights
        self.program = program
        self.labels = labels
        self.explicit_root = explicit_root
        self.monotonic = monotonic
        self.own_repairs = own_repairs
        self.single_root = single_root
        self.root_label = root_label
        for lane in range(LANES):
            self.lanes[lane].sentence = -1
            self.lanes[lane].right_scores = <int32_t *>calloc(3 * weights.width, sizeof(int32_t))
            if self.lanes[lane].right_scores == NULL:
                raise MemoryError()
            self.lanes[lane].scores = self.lanes[lane].right_scores + 2 * weights.width

    def __dealloc__(self):
        cdef int lane
        for lane in range(LANES):
            release(&self.lanes[lane].c)
            free(self.lanes[lane].left_kept)
            free(self.lanes[lane].left_scores)
            free(self.lanes[lane].open_scores)
            free(self.lanes[lane].right_scores)

    cdef int begin(self, Lane *lane, Sentences sentences, int64_t index) except -1 nogil:
        """Put a sentence into a lane."""
        cdef int n = length_of(sentences, index), word
        cdef size_t scores
        reserve(&lane.c, n)
        if lane.left_kept == NULL or n > lane.room:
            free(lane.left_kept)
            free(lane.left_scores)
            free(lane.open_scores)
            lane.room = n + n // 2 + 64
            scores = 2 * <size_t>(lane.room + 2) * self.weights.width * sizeof(int32_t)
            lane.left_kept = <Kept *>malloc(<size_t>(lane.room + 2) * sizeof(Kept))
            lane.left_scores = <int32_t *>malloc(scores)
            lane.open_scores = <int32_t *>malloc(scores)
            if lane.left_kept == NULL or lane.left_scores == NULL or lane.open_scores == NULL:
                with gil:
                    raise MemoryError("no memory for a sentence")
        start(&lane.c, n, self.explicit_root)
        for word in range(n + 2):
            lane.left_kept[word].has_word = lane.left_kept[word].has_arcs = False
            lane.left_kept[word].has_first_open = lane.left_kept[word].has_last_open = False
        lane.right_kept.has_word = lane.right_kept.has_arcs = False
        lane.values = values_of(sentences, index)
        lane.sentence = index
        return 0

    cdef inline int ask_for(self, Lane *lane, int group, const uint64_t *cells, int at) noexcept nogil:
        """Make the keys of a group and call for what is known of them."""
        cdef int k, count = make_keys(&self.program.groups[group], cells, lane.keys + at)
        for k in range(at, at + count):
            self.weights.call(lane.keys[k])
        lane.counts[group] = count
        return count

    cdef inline int ask_for_pair(self, Lane *lane) noexcept nogil:
        """Ask for the features of both focus words, but for those behind a gate that is shut."""
        cdef uint64_t cells[MOST_CELLS]
        cdef uint64_t keys[MOST_KEYS]
        cdef bint is_open[MOST_KEYS]
        cdef Group *pair = &self.program.groups[PAIR]
        cdef int k, count, kept = 0
        load_cells(pair, &lane.c, lane.values, self.program.width, cells)
        count = make_keys(pair, cells, keys)
        for k in range(count):
            is_open[k] = self.weights.may_know(keys[k]) if k < pair.gates else (
                pair.gate[k] < 0 or is_open[pair.gate[k]]
            )
            if is_open[k]:
                self.weights.call(keys[k])
                lane.keys[kept] = keys[k]
                kept += 1
        lane.counts[PAIR] = kept
        return kept

    cdef int ask_for_word(self, Lane *lane, Kept *kept, int word, int arcs, int at) noexcept nogil:
        """Ask for what is new about a focus word."""
        cdef uint64_t cells[MOST_CELLS]
        cdef Group *group = &self.program.groups[arcs]
        cdef int count = 0
        lane.counts[arcs] = 0
        load_cells(group, &lane.c, lane.values, self.program.width, cells)
        if not kept.has_arcs or memcmp(kept.cells, cells, group.cells * sizeof(uint64_t)) != 0:
            memcpy(kept.cells, cells, group.cells * sizeof(uint64_t))
            kept.has_arcs = True
            count = self.ask_for(lane, arcs, cells, at)
        return count + self.ask_once(lane, &kept.has_word, word, at + count)

    cdef int ask_once(self, Lane *lane, bint *is_kept, int group, int at) noexcept nogil:
        """Ask for scores that never change once they are known."""
        cdef uint64_t cells[MOST_CELLS]
        lane.counts[group] = 0
        if is_kept[0]:
            return 0
        is_kept[0] = True
        load_cells(&self.program.groups[group], &lane.c, lane.values, self.program.width, cells)
        return self.ask_for(lane, group, cells, at)

    cdef void ask(self, Lane *lane) noexcept nogil:
        """First turn: what does this configuration need?"""
        cdef int at = self.ask_for_pair(lane)
        at += self.ask_for_word(lane, &lane.left_kept[lane.c.i], LEFT_WORD, LEFT_ARCS, at)
        at += self.ask_for_word(lane, &lane.right_kept, RIGHT_WORD, RIGHT_ARCS, at)
        at += self.ask_once(lane, &lane.left_kept[lane.c.open_first].has_first_open, FIRST_OPEN, at)
        self.ask_once(lane, &lane.left_kept[lane.c.open_last].has_last_open, LAST_OPEN, at)

    cdef void look_up(self, Lane *lane) noexcept nogil:
        """Second turn: find the features and call for their weights."""
        cdef int k, group, count = 0
        for group in range(GROUPS):
            count += lane.counts[group]
        for k in range(count):
            lane.known[k] = self.weights.find(lane.keys[k], &lane.found[k])

    cdef inline int add(self, Lane *lane, int group, int at, int32_t *scores) noexcept nogil:
        """Add up the weights of a group that was asked for."""
        cdef int k
        for k in range(at, at + lane.counts[group]):
            if lane.known[k]:
                self.weights.add(&lane.found[k], scores)
        return lane.counts[group]

    cdef inline int renew(self, Lane *lane, int group, int at, int32_t *scores) noexcept nogil:
        """Replace kept scores that were asked for."""
        if lane.counts[group] == 0:
            return 0
        memset(scores, 0, self.weights.width * sizeof(int32_t))
        return self.add(lane, group, at, scores)

    cdef void score(self, Lane *lane) noexcept nogil:
        """Third turn: the scores of all classes."""
        cdef int width = self.weights.width, at = lane.counts[PAIR]
        cdef int32_t *left = lane.left_scores + 2 * <size_t>lane.c.i * width
        cdef int32_t *right = lane.right_scores
        cdef int32_t *first = lane.open_scores + 2 * <size_t>lane.c.open_first * width
        cdef int32_t *last = lane.open_scores + 2 * <size_t>lane.c.open_last * width + width
        at += self.renew(lane, LEFT_ARCS, at, left + width)
        at += self.renew(lane, LEFT_WORD, at, left)
        at += self.renew(lane, RIGHT_ARCS, at, right + width)
        at += self.renew(lane, RIGHT_WORD, at, right)
        at += self.renew(lane, FIRST_OPEN, at, first)
        self.renew(lane, LAST_OPEN, at, last)
        covington_sum(lane.scores, left, right, first, last, width)
        self.add(lane, PAIR, 0, lane.scores)

    cdef int best_arc(self, Lane *lane, int transition) noexcept nogil:
        """The best class of LeftArc or RightArc in the configuration."""
        cdef int number, best, first = first_class(&lane.c, transition, self.labels, self.own_repairs)
        best = first
        for number in range(first + 1, first + self.labels):
            if lane.scores[number] > lane.scores[best]:
                best = number
        return best

    cdef int decide(self, Lane *lane, int32_t *margin) noexcept nogil:
        """The best class that is allowed; the margin is its lead over the best other transition."""
        cdef int numbers[4]
        cdef int32_t score, second = NEVER
        cdef int transition, best = 0
        numbers[0], numbers[1] = 0, 1
        numbers[2] = numbers[3] = -1
        if lane.c.i > 0 and not (self.monotonic and not left_arc_is_monotonic(&lane.c)):
            numbers[2] = self.best_arc(lane, LEFT_ARC)
        if not (self.monotonic and not right_arc_is_monotonic(&lane.c)):
            numbers[3] = self.best_arc(lane, RIGHT_ARC)
        for transition in range(1, 4):
            if numbers[transition] < 0:
                continue
            score = lane.scores[numbers[transition]]
            if score > lane.scores[numbers[best]]:
                second = lane.scores[numbers[best]]
                best = transition
            elif score > second:
                second = score
        margin[0] = lane.scores[numbers[best]] - second
        return numbers[best]

    cdef void take(self, Lane *lane, int number, int32_t margin, const int32_t *gold, float *margins) noexcept nogil:
        """Apply a class and count what it does."""
        cdef int dependent, old, removed, label = (number - 2) % self.labels
        if number == 0:
            self.counts[<int>SHIFT] += 1
            shift(&lane.c)
            lane.right_kept.has_word = lane.right_kept.has_arcs = False
            return
        if number == 1:
            self.counts[<int>NO_ARC] += 1
            no_arc(&lane.c)
            return
        if (number - 2) // self.labels % 2 == 0:
            self.counts[<int>LEFT_ARC] += 1
            dependent = lane.c.i
            old = lane.c.head[dependent]
            removed = left_arc(&lane.c, label)
        else:
            self.counts[<int>RIGHT_ARC] += 1
            dependent = lane.c.j
            old = lane.c.head[dependent]
            removed = right_arc(&lane.c, label)
        if margins != NULL:
            margins[dependent] = <float>margin
            if removed & CYCLE_ARC:
                margins[lane.c.head[dependent]] = NAN       # the new head has lost its own
        if removed:
            self.counts[NON_MONOTONIC] += 1
            if gold != NULL:
                if lane.c.head[dependent] == gold[dependent]:
                    self.counts[REPAIRS_TO_GOLD] += 1
                elif old == gold[dependent] and old != lane.c.nothing:
                    self.counts[REPAIRS_HARMFUL] += 1

    cdef void finish(self, Lane *lane) noexcept nogil:
        """Make a tree of the forest: words without a head hang from the root, or from its one dependent."""
        cdef int word, root = 0
        for word in range(lane.c.n, 0, -1):
            if lane.c.head[word] <= 0:
                root = word
        for word in range(1, lane.c.n + 1):
            if lane.c.head[word] > 0:
                continue
            if self.single_root and word != root:
                self.hang(lane, word, root)
            else:
                lane.c.head[word] = 0
                if lane.c.label[word] < 0:
                    lane.c.label[word] = self.root_label

    cdef void hang(self, Lane *lane, int word, int root) noexcept nogil:
        """Attach a left-over word to the root's dependent, with the label that the model likes best there."""
        cdef int number
        detach(&lane.c, word)
        lane.c.i = word if word < root else root
        lane.c.j = root if word < root else word
        find_open_words(&lane.c)
        lane.right_kept.has_word = lane.right_kept.has_arcs = False
        self.ask(lane)
        self.look_up(lane)
        self.score(lane)
        number = self.best_arc(lane, LEFT_ARC if word < root else RIGHT_ARC)
        attach(&lane.c, word, root, (number - 2) % self.labels)

    def run(self, Sentences sentences, int64_t first, int64_t last, int64_t longest, int32_t[::1] heads,
            int32_t[::1] labels, float[::1] margins=None, const int32_t[::1] gold=None):
        """Parse the sentences first..last-1; longer ones than `longest` are left as they are."""
        cdef int64_t following = first, base
        cdef int number, busy = 1, word, l
        cdef int32_t margin
        cdef Lane *lane
        if sentences.tokens == 0:
            return
        with nogil:
            while busy:
                busy = 0
                for l in range(LANES):
                    lane = &self.lanes[l]
                    if lane.sentence < 0:
                        while following < last and not 0 < length_of(sentences, following) <= longest:
                            following += 1
                        if following == last:
                            continue
                        self.begin(lane, sentences, following)
                        following += 1
                    busy += 1
                    while lane.c.i < lane.c.first and lane.c.j <= lane.c.n:
                        self.take(lane, 0, 0, NULL, NULL)       # nothing but Shift is possible
                    if lane.c.j <= lane.c.n:
                        self.ask(lane)
                for l in range(LANES):
                    lane = &self.lanes[l]
                    if lane.sentence >= 0 and lane.c.j <= lane.c.n:
                        self.look_up(lane)
                for l in range(LANES):
                    lane = &self.lanes[l]
                    if lane.sentence < 0:
                        continue
                    base = sentences.offsets[lane.sentence]
                    if lane.c.j <= lane.c.n:
                        self.score(lane)
                        number = self.decide(lane, &margin)
                        if self.steps is not None:
                            with gil:
                                self.steps.append((lane.c.i, lane.c.j, number, lane.scores[number], margin))
                        self.take(lane, number, margin, NULL if gold is None else &gold[base] - 1,
                                  NULL if margins is None else &margins[base] - 1)
                    if lane.c.j > lane.c.n:
                        self.finish(lane)
                        for word in range(1, lane.c.n + 1):
                            heads[base + word - 1] = lane.c.head[word]
                            labels[base + word - 1] = lane.c.label[word]
                        lane.sentence = -1

    def take_counts(self):
        """Transitions by kind and the error analysis since the last call."""
        taken = dict(zip(COUNTS, self.counts))
        memset(self.counts, 0, sizeof(self.counts))
        return taken

    def trace(self, Sentences sentences):
        """The steps of the first sentence: (i, j, class, score, margin)."""
        words = np.empty(sentences.tokens, dtype=np.int32)
        self.steps = []
        try:
            self.run(sentences, 0, 1, 1 << 30, words, words.copy())
            return self.steps
        finally:
            self.steps = None

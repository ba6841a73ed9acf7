"""The greedy loop: parse a run of encoded sentences with frozen weights, the GIL released.

Scores of templates that depend on one focus word alone are kept per word. Those that also look at the arcs around
it are kept together with the values they were made from, and made again only when one of these has changed.
"""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy, memset

from covington.features cimport (
    LEFT_ARCS, LEFT_WORD, MOST_CELLS, MOST_TEMPLATES, PAIR, RIGHT_ARCS, RIGHT_WORD, Group, Program, load_cells,
    make_keys,
)
from covington.frozen cimport FrozenWeights
from covington.sentences cimport Sentences, length_of, values_of
from covington.state cimport (
    LEFT_ARC, NO_ARC, RIGHT_ARC, SHIFT, Configuration, attach, detach, find_open_words, is_ancestor, left_arc,
    left_arc_is_monotonic, no_arc, release, reserve, right_arc, right_arc_is_monotonic, shift, start,
)

import numpy as np

cdef enum:
    NEVER = -0x7FFFFFFF

COUNTS = (
    "shift", "no_arc", "left_arc", "right_arc", "non_monotonic", "repairs_to_gold", "repairs_harmful",
)


cdef extern from *:
    """
    #if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__)
    #define COVINGTON_SUM_CLONES __attribute__((target_clones("avx2", "default")))
    #else
    #define COVINGTON_SUM_CLONES
    #endif
    COVINGTON_SUM_CLONES static void covington_sum_4(
        int32_t *sum, const int32_t *a, const int32_t *b, const int32_t *c, const int32_t *d, int count
    ) {
        for (int k = 0; k < count; k++) sum[k] = a[k] + b[k] + c[k] + d[k];
    }
    """
    void covington_sum_4(int32_t *sum, const int32_t *a, const int32_t *b, const int32_t *c, const int32_t *d,
                         int count) noexcept nogil


# Scores of one word as a focus word, with the values the changing part was made from.
cdef struct Kept:
    uint64_t cells[MOST_CELLS]
    bint has_word
    bint has_arcs


cdef class Decoder:
    """A model and the workspace of one thread."""
    cdef FrozenWeights weights
    cdef Program program
    cdef int labels
    cdef bint explicit_root
    cdef bint monotonic
    cdef bint single_root
    cdef int root_label
    cdef Configuration c
    cdef Kept *left_kept            # by word
    cdef int32_t *left_scores       # by word: the word's part, then the arcs' part
    cdef int kept_room
    cdef Kept right_kept
    cdef int32_t *right_scores
    cdef int32_t *scores
    cdef int64_t counts[7]
    cdef list trace_steps

    def __cinit__(self, FrozenWeights weights, Program program, int labels, bint explicit_root, bint monotonic,
                  bint single_root, int root_label):
        self.weights = weights
        self.program = program
        self.labels = labels
        self.explicit_root = explicit_root
        self.monotonic = monotonic
        self.single_root = single_root
        self.root_label = root_label
        self.right_scores = <int32_t *>calloc(3 * weights.width, sizeof(int32_t))
        if self.right_scores == NULL:
            raise MemoryError()
        self.scores = self.right_scores + 2 * weights.width

    def __dealloc__(self):
        release(&self.c)
        free(self.left_kept)
        free(self.left_scores)
        free(self.right_scores)

    cdef int make_room(self, int n) except -1 nogil:
        reserve(&self.c, n)
        if self.left_kept == NULL or n > self.kept_room:
            free(self.left_kept)
            free(self.left_scores)
            self.kept_room = n + n // 2 + 64
            self.left_kept = <Kept *>malloc(<size_t>(self.kept_room + 2) * sizeof(Kept))
            self.left_scores = <int32_t *>malloc(
                2 * <size_t>(self.kept_room + 2) * self.weights.width * sizeof(int32_t)
            )
            if self.left_kept == NULL or self.left_scores == NULL:
                with gil:
                    raise MemoryError("no memory for a sentence")
        return 0

    cdef void keep(self, Kept *kept, int32_t *scores, const uint64_t *values, int word, int arcs) noexcept nogil:
        """Bring the scores of a focus word up to date."""
        cdef uint64_t cells[MOST_CELLS]
        cdef uint64_t keys[MOST_TEMPLATES]
        cdef Group *group
        cdef int count
        if not kept.has_word:
            group = &self.program.groups[word]
            load_cells(group, &self.c, values, self.program.width, cells)
            count = make_keys(group, cells, keys)
            self.weights.prefetch(keys, count)
            memset(scores, 0, self.weights.width * sizeof(int32_t))
            self.weights.score(keys, count, scores)
            kept.has_word = True
        group = &self.program.groups[arcs]
        load_cells(group, &self.c, values, self.program.width, cells)
        if kept.has_arcs and memcmp(kept.cells, cells, group.cells * sizeof(uint64_t)) == 0:
            return
        memcpy(kept.cells, cells, group.cells * sizeof(uint64_t))
        kept.has_arcs = True
        count = make_keys(group, cells, keys)
        self.weights.prefetch(keys, count)
        scores += self.weights.width
        memset(scores, 0, self.weights.width * sizeof(int32_t))
        self.weights.score(keys, count, scores)

    cdef void score(self, const uint64_t *values) noexcept nogil:
        """Scores of all classes in the configuration."""
        cdef uint64_t cells[MOST_CELLS]
        cdef uint64_t keys[MOST_TEMPLATES]
        cdef Group *pair = &self.program.groups[PAIR]
        cdef int count, width = self.weights.width
        cdef int32_t *left = self.left_scores + 2 * <size_t>self.c.i * width
        load_cells(pair, &self.c, values, self.program.width, cells)
        count = make_keys(pair, cells, keys)
        self.weights.prefetch(keys, count)
        self.keep(&self.left_kept[self.c.i], left, values, LEFT_WORD, LEFT_ARCS)
        self.keep(&self.right_kept, self.right_scores, values, RIGHT_WORD, RIGHT_ARCS)
        covington_sum_4(self.scores, left, left + width, self.right_scores, self.right_scores + width, width)
        self.weights.score(keys, count, self.scores)

    cdef int best_label(self, int transition) noexcept nogil:
        """The best class of LeftArc or RightArc."""
        cdef int number, first = 2 if transition == LEFT_ARC else 2 + self.labels
        cdef int best = first
        for number in range(first + 1, first + self.labels):
            if self.scores[number] > self.scores[best]:
                best = number
        return best

    cdef int decide(self, int32_t *margin) noexcept nogil:
        """The best class that is allowed; the margin is its lead over the best other transition."""
        cdef int numbers[4]
        cdef int32_t score, second = NEVER
        cdef int transition, best = 0
        numbers[0], numbers[1] = 0, 1
        numbers[2] = self.best_label(LEFT_ARC)
        numbers[3] = self.best_label(RIGHT_ARC)
        if self.c.i == 0 or (self.monotonic and not left_arc_is_monotonic(&self.c)):
            numbers[2] = -1
        if self.monotonic and not right_arc_is_monotonic(&self.c):
            numbers[3] = -1
        for transition in range(1, 4):
            if numbers[transition] < 0:
                continue
            score = self.scores[numbers[transition]]
            if score > self.scores[numbers[best]]:
                second = self.scores[numbers[best]]
                best = transition
            elif score > second:
                second = score
        margin[0] = self.scores[numbers[best]] - second
        return numbers[best]

    cdef void parse(self, const uint64_t *values, int n, const int32_t *gold, float *margins) noexcept nogil:
        """Parse one sentence; the result is in the configuration."""
        cdef int number, word, dependent, old, removed
        cdef int32_t margin
        start(&self.c, n, self.explicit_root)
        for word in range(n + 2):
            self.left_kept[word].has_word = self.left_kept[word].has_arcs = False
        while self.c.j <= n:
            if self.c.i < self.c.first:
                self.counts[<int>SHIFT] += 1
                shift(&self.c)
                self.right_kept.has_word = self.right_kept.has_arcs = False
                continue
            self.score(values)
            number = self.decide(&margin)
            if self.trace_steps is not None:
                with gil:
                    self.trace_steps.append((self.c.i, self.c.j, number, self.scores[number], margin))
            if number == 0:
                self.counts[<int>SHIFT] += 1
                shift(&self.c)
                self.right_kept.has_word = self.right_kept.has_arcs = False
                continue
            if number == 1:
                self.counts[<int>NO_ARC] += 1
                no_arc(&self.c)
                continue
            dependent = self.c.i if number < 2 + self.labels else self.c.j
            old = self.c.head[dependent]
            if margins != NULL:
                margins[dependent] = <float>margin
            if number < 2 + self.labels:
                self.counts[<int>LEFT_ARC] += 1
                removed = left_arc(&self.c, number - 2)
            else:
                self.counts[<int>RIGHT_ARC] += 1
                removed = right_arc(&self.c, number - 2 - self.labels)
            if removed:
                self.counts[4] += 1
                if gold != NULL:
                    if self.c.head[dependent] == gold[dependent - 1]:
                        self.counts[5] += 1
                    elif old == gold[dependent - 1] and old != self.c.nothing:
                        self.counts[6] += 1
        self.finish(values)

    cdef void finish(self, const uint64_t *values) noexcept nogil:
        """Make a tree of the forest: words without a head hang from the root, or from its one dependent."""
        cdef int word, root = 0, roots = 0
        for word in range(1, self.c.n + 1):
            if self.c.head[word] <= 0:
                roots += 1
                if root == 0:
                    root = word
        for word in range(1, self.c.n + 1):
            if self.c.head[word] > 0:
                continue
            if self.single_root and word != root:
                self.hang(values, word, root)
            else:
                self.c.head[word] = 0
                if self.c.label[word] < 0:
                    self.c.label[word] = self.root_label

    cdef void hang(self, const uint64_t *values, int word, int root) noexcept nogil:
        """Attach a left-over word to the root's dependent, with the label that the model likes best there."""
        cdef int label
        detach(&self.c, word)
        self.c.i = word if word < root else root
        self.c.j = root if word < root else word
        find_open_words(&self.c)
        self.right_kept.has_word = self.right_kept.has_arcs = False
        self.score(values)
        if word < root:
            label = self.best_label(LEFT_ARC) - 2
        else:
            label = self.best_label(RIGHT_ARC) - 2 - self.labels
        attach(&self.c, word, root, label)

    def run(self, Sentences sentences, int64_t first, int64_t last, int64_t longest, int32_t[::1] heads,
            int32_t[::1] labels, float[::1] margins=None, const int32_t[::1] gold=None):
        """Parse the sentences first..last-1; longer ones than `longest` are left with label -1."""
        cdef int64_t index, base
        cdef int n, word
        cdef const int32_t *gold_heads = NULL
        cdef float *margin = NULL
        if sentences.tokens == 0:
            return
        with nogil:
            for index in range(first, last):
                n = length_of(sentences, index)
                if n == 0 or n > longest:
                    continue
                base = sentences.offsets[index]
                if gold is not None:
                    gold_heads = &gold[base]
                if margins is not None:
                    margin = &margins[base] - 1
                self.make_room(n)
                self.parse(values_of(sentences, index), n, gold_heads, margin)
                for word in range(1, n + 1):
                    heads[base + word - 1] = self.c.head[word]
                    labels[base + word - 1] = self.c.label[word]

    def take_counts(self):
        """Transitions by kind and the error analysis since the last call."""
        taken = dict(zip(COUNTS, self.counts))
        memset(self.counts, 0, sizeof(self.counts))
        return taken

    def trace(self, Sentences sentences):
        """The steps of the first sentence: (i, j, class, score, margin)."""
        words = np.empty(sentences.tokens, dtype=np.int32)
        self.trace_steps = []
        try:
            self.run(sentences, 0, 1, 1 << 30, words, words.copy())
            return self.trace_steps
        finally:
            self.trace_steps = None

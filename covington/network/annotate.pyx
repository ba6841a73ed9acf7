"""The network in integers: from words to tags and trees, the interpreter lock released.

Sentences are taken in groups of some hundred words, in the order of time as in training (see floats), so that weights
are read once for many words. What comes out does not depend on the groups: sums of products are exact, and all else
goes element by element. The sums of the first layer over its input depend on the word alone; a cache has those of
words that were met before.
"""

import os

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy, memset

import numpy as np

from covington.arrow_views cimport StringView, view_strings
from covington.hashing cimport hash_bytes
from covington.network.actions cimport ACTIONS, ROWS, SLOTS, label_distance, locate
from covington.network.words cimport FormTable, WordView, view_word
from covington.state cimport (
    LEFT_ARC, NO_ARC, RIGHT_ARC, SHIFT, Configuration, attach, is_repair, label_at, left_arc, no_arc, release, reserve,
    right_arc, set_label, shift, start,
)

from covington.errors import OptionError
from covington.network.floats import KERNEL_VARIABLE

cdef extern from "integer_kernels.h":
    enum:
        INT_ROWS, MAX_SLOT
    const float MAX_GATE
    float short_exp(float) nogil
    ctypedef struct int_matrix:
        int64_t k, n
        const int8_t *weights
        const int32_t *sums
        const float *scales
    ctypedef struct integer_kernels:
        const char *name
        void (*dots)(const int8_t *, int64_t, int64_t, const int_matrix *, int32_t *, int64_t) nogil
        float (*quantise)(const float *, int64_t, int8_t *) nogil
        void (*reals)(const int32_t *, float, const float *, const float *, int64_t, float *) nogil
        void (*fixed)(const int32_t *, float, const float *, const int32_t *, float, const float *, const float *, float,
                      int64_t, int16_t *) nogil
        void (*cells)(int64_t, const int16_t *, const int32_t *, const float *, float *, int8_t *) nogil
        void (*softmax)(float *, const int32_t *, int64_t, int8_t *) nogil
        void (*embed)(const int8_t *, const int32_t *, int64_t, int64_t, const float *, float *) nogil
        void (*hidden)(const int16_t *const *, int64_t, int64_t, int16_t *) nogil
        int32_t (*dot)(const int16_t *, const int16_t *, int64_t) nogil
        void (*label_scores)(const int16_t *, const int16_t *, int64_t, int64_t, int32_t *) nogil
    const integer_kernels *choose_integer_kernels(const char *name) nogil

cdef enum:
    GROUP_WORDS = 384               # of a group, but for a longer sentence; a row takes 6 kB
    CACHE = 1 << 13                 # words that are remembered; one takes 2 kB
    CACHED_BYTES = 28               # of a word, at most
    MAX_HIDDEN_WIDTH = 1024
    MAX_LABELS = 4096
    BLOCK = 8                       # INT_ROWS, which a loop can step by

cdef float STATE_UNIT = <float>1.0 / <float>127.0


assert BLOCK == INT_ROWS


# A word whose sums of the first layer are remembered.
cdef struct Known:
    int32_t size                    # bytes, 0 for nobody
    uint8_t text[CACHED_BYTES]


# Everything that the loops read.
cdef struct Integers:
    const integer_kernels *kernels
    int_matrix first_input
    int_matrix tag_weights
    int_matrix tag_table
    int_matrix second_state
    int_matrix second_tag
    int_matrix bottleneck
    int_matrix projections
    int_matrix first[2]
    int_matrix second[2]
    const float *first_bias
    const float *tag_bias
    const float *second_bias
    const float *bottleneck_bias
    const int8_t *forms
    const float *forms_scale
    const int8_t *subwords
    const float *subwords_scale
    const int16_t *slot_tables
    const int16_t *label_tables
    const int16_t *action_weights
    float action_unit               # what 1 of a score of an action stands for
    const int32_t *action_bias
    const int16_t *label_weights
    const int32_t *label_bias
    const int32_t *group_ends
    int64_t groups, buckets, form, subword, state, tag, tags, squeezed, slot, label, labels, label_columns
    bint monotonic
    int root_label


cdef class Weights:
    """A network's integers, shared by all threads."""
    cdef Integers net
    cdef object kept                # what its pointers point into
    cdef readonly FormTable forms_table
    def __init__(self, prepared, FormTable forms_table, group_ends, options, int labels, int root_label, kernel=None):
        """`prepared` as quantise.prepared gives it, once quantise.check has passed the arrays."""
        name = kernel or os.environ.get(KERNEL_VARIABLE) or None
        encoded = name.encode() if name else None
        self.net.kernels = choose_integer_kernels(NULL if encoded is None else <const char *>encoded)
        if self.net.kernels == NULL:
            raise OptionError(f"this processor has no kernels {name!r} ({KERNEL_VARIABLE}): plain runs everywhere")
        self.kept = dict(prepared)
        self.kept["group_ends"] = np.ascontiguousarray(group_ends, dtype=np.int32)
        self.forms_table = forms_table
        self.set_matrix("first_input", &self.net.first_input)
        self.set_matrix("first_forward", &self.net.first[0])
        self.set_matrix("first_backward", &self.net.first[1])
        self.set_matrix("second_forward", &self.net.second[0])
        self.set_matrix("second_backward", &self.net.second[1])
        self.set_matrix("tag_weights", &self.net.tag_weights)
        self.set_matrix("tag_table", &self.net.tag_table)
        self.set_matrix("second_state", &self.net.second_state)
        self.set_matrix("second_tag", &self.net.second_tag)
        self.set_matrix("bottleneck", &self.net.bottleneck)
        self.set_matrix("projections", &self.net.projections)
        self.net.first_bias = <const float *>self.at("first_bias")
        self.net.tag_bias = <const float *>self.at("tag_bias")
        self.net.second_bias = <const float *>self.at("second_bias")
        self.net.bottleneck_bias = <const float *>self.at("bottleneck_bias")
        self.net.forms = <const int8_t *>self.at("forms")
        self.net.forms_scale = <const float *>self.at("forms_scale")
        self.net.subwords = <const int8_t *>self.at("subwords")
        self.net.subwords_scale = <const float *>self.at("subwords_scale")
        self.net.slot_tables = <const int16_t *>self.at("slot_tables")
        self.net.label_tables = <const int16_t *>self.at("label_tables")
        self.net.action_weights = <const int16_t *>self.at("action_weights")
        self.net.action_unit = prepared["action_unit"][0]
        self.net.action_bias = <const int32_t *>self.at("action_bias")
        self.net.label_weights = <const int16_t *>self.at("label_weights")
        self.net.label_bias = <const int32_t *>self.at("label_bias")
        self.net.group_ends = <const int32_t *>self.at("group_ends")
        self.net.groups = len(group_ends) - 1
        self.net.tags = group_ends[self.net.groups]
        self.net.buckets, self.net.form, self.net.subword = options.buckets, options.form, options.subword
        self.net.state, self.net.tag, self.net.squeezed = options.state, options.tag, options.bottleneck
        self.net.slot, self.net.label, self.net.labels = options.slot, options.label, labels
        self.net.label_columns = len(prepared["label_bias"])
        self.net.monotonic = options.monotonic
        self.net.root_label = root_label

    cdef const void *at(self, name) except NULL:
        cdef const uint8_t[::1] bytes_ = self.kept[name].reshape(-1).view(np.uint8)
        return &bytes_[0]

    cdef int set_matrix(self, name, int_matrix *matrix) except -1:
        shape = self.kept[name].shape           # [panels, k / 4, 16, 4]
        matrix.k, matrix.n = shape[1] * 4, shape[0] * 16
        matrix.weights = <const int8_t *>self.at(name)
        matrix.sums = <const int32_t *>self.at(f"{name}_sums")
        matrix.scales = <const float *>self.at(f"{name}_scale")
        return 0

    @property
    def kernel(self):
        return self.net.kernels.name.decode()


cdef class Workspace:
    """The memory of one thread."""
    cdef readonly Weights weights
    cdef const Integers *net
    cdef FormTable forms_table
    cdef Configuration c
    cdef Known *known
    cdef int16_t *cache             # [CACHE][gates]
    cdef void *memory               # of a group, cut up below
    cdef Py_ssize_t room            # words
    cdef int16_t *rows              # [words][row]: sums of the gates, then projections
    cdef int64_t row                # 16-bit numbers
    cdef int8_t *states             # [words][2 * state]
    cdef int8_t *states_again
    cdef float *cell                # [words][state]: of sentences
    cdef int32_t *sums              # [words][4 * state] of a step
    # for BLOCK words at a time
    cdef void *small
    cdef int32_t *products          # [BLOCK][widest]
    cdef int32_t *more
    cdef float *reals
    cdef int8_t *bytes_
    cdef int64_t widest

    def __cinit__(self, Weights weights):
        cdef const Integers *w = &weights.net
        cdef int64_t gates = w.first_input.n
        self.weights, self.forms_table = weights, weights.forms_table
        self.net = w
        self.row = max(gates, w.projections.n)
        self.widest = max(max(self.row, w.tag_weights.n), max(w.first_input.k, w.tag_table.k) + 16)
        self.known = <Known *>calloc(CACHE, sizeof(Known))
        self.cache = <int16_t *>calloc(CACHE * gates, sizeof(int16_t))
        self.small = calloc(BLOCK * self.widest, 2 * sizeof(int32_t) + sizeof(float) + 1)
        if self.known == NULL or self.cache == NULL or self.small == NULL:
            raise MemoryError("no memory for a workspace")
        self.products = <int32_t *>self.small
        self.more = self.products + BLOCK * self.widest
        self.reals = <float *>(self.more + BLOCK * self.widest)
        self.bytes_ = <int8_t *>(self.reals + BLOCK * self.widest)

    def __dealloc__(self):
        release(&self.c)
        free(self.known)
        free(self.cache)
        free(self.memory)
        free(self.small)

    cdef int reserve_rows(self, Py_ssize_t words, Py_ssize_t sentences) except -1:
        cdef const Integers *w = self.net
        cdef size_t one = self.row * sizeof(int16_t) + 4 * w.state
        cdef size_t each = w.state * sizeof(float) + w.first[0].n * sizeof(int32_t)
        # a group has no more sentences than words, and one of many words is alone in its group
        if words <= self.room and sentences <= GROUP_WORDS:
            return 0
        free(self.memory)
        self.room = 0
        words = max(words, GROUP_WORDS)
        self.memory = calloc(words * one + GROUP_WORDS * each + 256, 1)
        if self.memory == NULL:
            raise MemoryError(f"no memory for a sentence of {words} words")
        self.room = words
        self.cell = <float *>self.memory
        self.sums = <int32_t *>(self.cell + GROUP_WORDS * w.state)
        self.rows = <int16_t *>(self.sums + GROUP_WORDS * w.first[0].n)
        self.states = <int8_t *>(self.rows + words * self.row)
        self.states_again = self.states + words * 2 * w.state
        return 0

    def run(self, words, const int64_t[::1] offsets, const int64_t[::1] order, int32_t[:, ::1] tags,
            int32_t[::1] heads, int32_t[::1] labels, bint single_root=True, const int32_t[:, ::1] given=None,
            float[::1] confidence=None):
        """Annotate the sentences of `order`, best those of like length together.

        Written are the places of the likeliest tags in their groups, heads and relations. Where `given` has a tag (not
        -1), it is read in place of the network's own and written. `confidence` gets the probability of the action that
        built a word's arc, and stays as it is where none did.
        """
        cdef StringView view
        cdef Py_ssize_t first = 0, last, total, k, n = order.shape[0]
        cdef int64_t count = offsets[offsets.shape[0] - 1]
        view_strings(words, &view)
        if not (view.length == tags.shape[0] == heads.shape[0] == labels.shape[0] == count
                and tags.shape[1] == self.net.groups
                and (given is None or (given.shape[0] == count and given.shape[1] == self.net.groups))
                and (confidence is None or confidence.shape[0] == count)):
            raise ValueError("the arrays of a batch do not fit")
        for k in range(n):
            if not 0 <= order[k] < offsets.shape[0] - 1:
                raise ValueError("there is no such sentence")
        for k in range(offsets.shape[0] - 1):
            if offsets[k] > offsets[k + 1] or offsets[k] < 0:
                raise ValueError("sentences end before they begin")
        while first < n:
            total = offsets[order[first] + 1] - offsets[order[first]]
            last = first + 1
            while last < n and total + offsets[order[last] + 1] - offsets[order[last]] <= GROUP_WORDS \
                    and last - first < GROUP_WORDS:
                total += offsets[order[last] + 1] - offsets[order[last]]
                last += 1
            if total:
                self.annotate(&view, offsets, order[first:last], total, tags, heads, labels, single_root, given,
                              confidence)
            first = last

    cdef int annotate(self, const StringView *view, const int64_t[::1] offsets, const int64_t[::1] group,
                      Py_ssize_t total, int32_t[:, ::1] tags, int32_t[::1] heads, int32_t[::1] labels, bint single_root,
                      const int32_t[:, ::1] given, float[::1] confidence) except -1:
        """One group, laid out in the order of time."""
        lengths = np.diff(np.asarray(offsets))[np.asarray(group)]
        by_length = np.argsort(-lengths, kind="stable")
        sizes = lengths[by_length]
        cdef const int64_t[::1] chosen = np.asarray(group)[by_length]
        cdef const int64_t[::1] length = sizes
        cdef int64_t longest = sizes[0]
        cdef int64_t[::1] starts = np.zeros(longest + 1, np.int64)
        cdef int64_t[::1] word = np.empty(total, np.int64)
        cdef Py_ssize_t t, s, place = 0, active = 0
        for s in range(length.shape[0]):
            active += length[s] > 0
        for t in range(longest):
            starts[t] = place
            while active > 0 and length[active - 1] <= t:
                active -= 1
            for s in range(active):
                word[place] = offsets[chosen[s]] + t
                place += 1
        starts[longest] = place
        self.reserve_rows(total, length.shape[0])
        reserve(&self.c, <int>longest)
        with nogil:
            self.read_words(view, word)
            self.recur(self.net.first, starts, self.states)
            self.find_tags(word, tags, given)
            self.recur(self.net.second, starts, self.states_again)
            self.project(total)
            for s in range(length.shape[0]):
                if length[s]:
                    self.parse(starts, s, <int>length[s], offsets[chosen[s]], heads, labels, single_root,
                               confidence)
        return 0

    cdef void read_words(self, const StringView *view, const int64_t[::1] word) noexcept nogil:
        """The sums of the first layer's gates over its input, remembered or made."""
        cdef int64_t missing[BLOCK]
        cdef int64_t gates = self.net.first_input.n
        cdef uint64_t place
        cdef const uint8_t *text
        cdef int64_t size, k
        cdef int misses = 0
        cdef Known *known
        for k in range(word.shape[0]):
            text = <const uint8_t *>view.data + view.offsets[word[k]]
            size = view.offsets[word[k] + 1] - view.offsets[word[k]]
            if 0 < size <= CACHED_BYTES:
                place = hash_bytes(text, size) & (CACHE - 1)
                known = &self.known[place]
                if known.size == size and memcmp(known.text, text, size) == 0:
                    memcpy(self.rows + k * self.row, self.cache + place * gates, gates * sizeof(int16_t))
                    continue
            missing[misses] = k
            misses += 1
            if misses == BLOCK:
                self.make_words(view, word, missing, misses)
                misses = 0
        self.make_words(view, word, missing, misses)

    cdef void make_words(self, const StringView *view, const int64_t[::1] word, const int64_t *missing,
                         int count) noexcept nogil:
        cdef const Integers *w = self.net
        cdef WordView seen
        cdef float units[BLOCK]
        cdef const uint8_t *text
        cdef int64_t size, k, gates = w.first_input.n
        cdef int32_t form
        cdef uint64_t place
        cdef int r
        for r in range(count):
            text = <const uint8_t *>view.data + view.offsets[word[missing[r]]]
            size = view.offsets[word[missing[r]] + 1] - view.offsets[word[missing[r]]]
            view_word(text, size, w.buckets, &seen)
            form = self.forms_table.find(seen.form)
            for k in range(w.form):
                self.reals[k] = <float>w.forms[form * w.form + k] * w.forms_scale[form]
            w.kernels.embed(w.subwords, seen.subwords, seen.subword_count, w.subword, w.subwords_scale,
                            self.reals + w.form)
            memset(self.bytes_ + r * w.first_input.k, 0, w.first_input.k)
            units[r] = w.kernels.quantise(self.reals, w.form + w.subword, self.bytes_ + r * w.first_input.k)
        w.kernels.dots(self.bytes_, w.first_input.k, count, &w.first_input, self.products, gates)
        for r in range(count):
            w.kernels.fixed(self.products + r * gates, units[r], w.first_input.scales, NULL, 0, NULL, w.first_bias,
                            MAX_GATE, gates, self.rows + missing[r] * self.row)
            text = <const uint8_t *>view.data + view.offsets[word[missing[r]]]
            size = view.offsets[word[missing[r]] + 1] - view.offsets[word[missing[r]]]
            if 0 < size <= CACHED_BYTES:
                place = hash_bytes(text, size) & (CACHE - 1)
                self.known[place].size = <int32_t>size
                memcpy(self.known[place].text, text, size)
                memcpy(self.cache + place * gates, self.rows + missing[r] * self.row, gates * sizeof(int16_t))

    cdef void recur(self, const int_matrix *recurrent, const int64_t[::1] starts, int8_t *states) noexcept nogil:
        """Both directions of an LSTM over all words of the group."""
        cdef const Integers *w = self.net
        cdef int64_t times = starts.shape[0] - 1, width = w.state, gates = recurrent[0].n
        cdef int64_t step, t, before, words, known, r, place
        cdef int d
        for d in range(2):
            for step in range(times):
                t = times - 1 - step if d else step
                before = t + 1 if d else t - 1
                words = starts[t + 1] - starts[t]
                known = min(words, starts[before + 1] - starts[before]) if 0 <= before < times else 0
                if known:
                    w.kernels.dots(states + starts[before] * 2 * width + d * width, 2 * width, known, &recurrent[d],
                                   self.sums, gates)
                for r in range(words):
                    place = starts[t] + r
                    if r >= known:
                        memset(self.cell + r * width, 0, width * sizeof(float))
                    w.kernels.cells(width, self.rows + place * self.row + d * 4 * width,
                                    self.sums + r * gates if r < known else NULL, recurrent[d].scales,
                                    self.cell + r * width, states + place * 2 * width + d * width)

    cdef void find_tags(self, const int64_t[::1] word, int32_t[:, ::1] tags, const int32_t[:, ::1] given) noexcept nogil:
        """The likeliest tags, and the sums of the second layer's gates over states and tags."""
        cdef const Integers *w = self.net
        cdef float units[BLOCK]
        cdef int64_t block, first, count, r, g, k, best, place, wide = 2 * w.state, gates = w.second_state.n
        cdef float *scores
        cdef int8_t *soft
        for block in range((word.shape[0] + BLOCK - 1) // BLOCK):
            first = block * BLOCK
            count = min(BLOCK, word.shape[0] - first)
            w.kernels.dots(self.states + first * wide, wide, count, &w.tag_weights, self.products, w.tag_weights.n)
            for r in range(count):
                scores = self.reals
                soft = self.bytes_ + r * w.tag_table.k
                w.kernels.reals(self.products + r * w.tag_weights.n, STATE_UNIT, w.tag_weights.scales, w.tag_bias,
                                w.tag_weights.n, scores)
                place = word[first + r]
                for g in range(w.groups):
                    best = w.group_ends[g]
                    for k in range(best + 1, w.group_ends[g + 1]):
                        if scores[k] > scores[best]:
                            best = k
                    tags[place, g] = <int32_t>(best - w.group_ends[g])
                memset(soft, 0, w.tag_table.k)
                w.kernels.softmax(scores, w.group_ends, w.groups, soft)
                if given is not None:
                    for g in range(w.groups):
                        if 0 <= given[place, g] < w.group_ends[g + 1] - w.group_ends[g]:
                            memset(soft + w.group_ends[g], 0, w.group_ends[g + 1] - w.group_ends[g])
                            soft[w.group_ends[g] + given[place, g]] = 127
                            tags[place, g] = given[place, g]
            w.kernels.dots(self.bytes_, w.tag_table.k, count, &w.tag_table, self.products, w.tag_table.n)
            for r in range(count):
                memset(self.reals, 0, w.tag_table.n * sizeof(float))
                w.kernels.reals(self.products + r * w.tag_table.n, STATE_UNIT, w.tag_table.scales, self.reals,
                                w.tag_table.n, self.reals)
                memset(self.bytes_ + r * w.second_tag.k, 0, w.second_tag.k)
                units[r] = w.kernels.quantise(self.reals, w.tag, self.bytes_ + r * w.second_tag.k)
            w.kernels.dots(self.states + first * wide, wide, count, &w.second_state, self.products, gates)
            w.kernels.dots(self.bytes_, w.second_tag.k, count, &w.second_tag, self.more, gates)
            for r in range(count):
                w.kernels.fixed(self.products + r * gates, STATE_UNIT, w.second_state.scales, self.more + r * gates,
                                units[r], w.second_tag.scales, w.second_bias, MAX_GATE, gates,
                                self.rows + (first + r) * self.row)

    cdef void project(self, int64_t total) noexcept nogil:
        """Each word as the scorers see it."""
        cdef const Integers *w = self.net
        cdef float units[BLOCK]
        cdef int64_t block, first, count, r, k, wide = 2 * w.state, columns = w.projections.n
        for block in range((total + BLOCK - 1) // BLOCK):
            first = block * BLOCK
            count = min(BLOCK, total - first)
            w.kernels.dots(self.states_again + first * wide, wide, count, &w.bottleneck, self.products, w.bottleneck.n)
            for r in range(count):
                w.kernels.reals(self.products + r * w.bottleneck.n, STATE_UNIT, w.bottleneck.scales, w.bottleneck_bias,
                                w.bottleneck.n, self.reals)
                for k in range(w.bottleneck.n):
                    self.reals[k] = self.reals[k] if self.reals[k] > 0 else 0
                memset(self.bytes_ + r * w.projections.k, 0, w.projections.k)
                units[r] = w.kernels.quantise(self.reals, w.squeezed, self.bytes_ + r * w.projections.k)
            w.kernels.dots(self.bytes_, w.projections.k, count, &w.projections, self.products, columns)
            memset(self.reals, 0, columns * sizeof(float))
            for r in range(count):
                w.kernels.fixed(self.products + r * columns, units[r], w.projections.scales, NULL, 0, NULL, self.reals,
                                MAX_SLOT, columns, self.rows + (first + r) * self.row)

    cdef inline const int16_t *row_of(self, const int64_t[::1] starts, int64_t sentence, int word) noexcept nogil:
        return self.rows + (starts[word - 1] + sentence) * self.row

    cdef void parse(self, const int64_t[::1] starts, int64_t sentence, int n, int64_t base, int32_t[::1] heads,
                    int32_t[::1] labels, bint single_root, float[::1] confidence) noexcept nogil:
        """The greedy loop over one sentence."""
        cdef Configuration *c = &self.c
        cdef int i, j, word, action, root = 0
        cdef float chance = 0
        cdef float *wanted = NULL if confidence is None else &chance
        start(c, n, False)
        while c.j <= n:
            i, j = c.i, c.j
            if i < c.first:
                shift(c)            # nothing else is possible
                continue
            action = self.best_action(starts, sentence, wanted)
            if action == SHIFT:
                shift(c)
            elif action == NO_ARC:
                no_arc(c)
            elif action == LEFT_ARC:
                left_arc(c, self.best_label(starts, sentence, j, i))
            else:
                right_arc(c, self.best_label(starts, sentence, i, j))
            if action >= LEFT_ARC and wanted != NULL:
                confidence[base + (i if action == LEFT_ARC else j) - 1] = chance
        # a tree of the forest: the first word without a head is the root
        for word in range(n, 0, -1):
            if c.head[word] < 1:
                root = word
        for word in range(1, n + 1):
            if c.head[word] > 0:
                continue
            if word == root or not single_root:
                set_label(c, word, self.net.root_label)
            else:
                attach(c, word, root, self.best_label(starts, sentence, root, word))
        for word in range(1, n + 1):
            heads[base + word - 1] = c.head[word]
            labels[base + word - 1] = label_at(c, word)

    cdef int best_action(self, const int64_t[::1] starts, int64_t sentence, float *chance) noexcept nogil:
        """The best action that the system allows and, where it is wanted, its probability."""
        cdef const Integers *w = self.net
        cdef int16_t hidden[MAX_HIDDEN_WIDTH]
        cdef const int16_t *rows[SLOTS + ROWS]
        cdef int32_t words[SLOTS]
        cdef int32_t tables[ROWS]
        cdef int32_t score, highest = 0
        cdef int32_t scores[ACTIONS]
        cdef int k, count = 0, best = -1
        cdef float sum = 0
        locate(&self.c, <int>w.labels, words, tables)
        for k in range(SLOTS):
            if words[k]:
                rows[k] = self.row_of(starts, sentence, words[k]) + k * w.slot
            else:
                rows[k] = w.slot_tables + k * w.slot
        for k in range(ROWS):
            rows[SLOTS + k] = w.slot_tables + tables[k] * w.slot
        w.kernels.hidden(rows, SLOTS + ROWS, w.slot, hidden)
        for k in range(ACTIONS):
            if k >= LEFT_ARC and w.monotonic and is_repair(&self.c, k):
                continue
            score = w.kernels.dot(hidden, w.action_weights + k * w.slot, w.slot) + w.action_bias[k]
            scores[count] = score
            count += 1
            if best < 0 or score > highest:
                best, highest = k, score
        if chance != NULL:
            for k in range(count):
                sum += short_exp((<float>scores[k] - <float>highest) * w.action_unit)
            chance[0] = <float>1.0 / sum
        return best

    cdef int best_label(self, const int64_t[::1] starts, int64_t sentence, int head, int dependent) noexcept nogil:
        cdef const Integers *w = self.net
        cdef int16_t hidden[MAX_HIDDEN_WIDTH + 1]
        cdef int32_t scores[MAX_LABELS + 16]
        cdef const int16_t *rows[3]
        cdef int k, best = 0
        rows[0] = self.row_of(starts, sentence, head) + SLOTS * w.slot
        rows[1] = self.row_of(starts, sentence, dependent) + SLOTS * w.slot + w.label
        rows[2] = w.label_tables + label_distance(head, dependent) * w.label
        w.kernels.hidden(rows, 3, w.label, hidden)
        hidden[w.label] = 0
        memcpy(scores, w.label_bias, w.label_columns * sizeof(int32_t))
        w.kernels.label_scores(hidden, w.label_weights, w.label + w.label % 2, w.label_columns, scores)
        for k in range(1, w.labels):
            if scores[k] > scores[best]:
                best = k
        return best


def combine(const int32_t[:, ::1] rows):
    """Equal rows get equal numbers, from 0 in the order of their first appearance; -> numbers, first rows."""
    cdef Py_ssize_t count = rows.shape[0], width = rows.shape[1], r, k, size = 64, found = 0
    cdef int32_t[::1] numbers = np.empty(count, np.int32)
    cdef int32_t[::1] firsts = np.empty(count, np.int32)
    cdef int32_t[::1] table = np.full(size, -1, np.int32)
    cdef uint64_t place
    for r in range(count):
        if 2 * found >= size:
            size *= 4
            table = np.full(size, -1, np.int32)
            for k in range(found):
                place = hash_bytes(<const uint8_t *>&rows[firsts[k], 0], width * 4) & (size - 1)
                while table[place] >= 0:
                    place = (place + 1) & (size - 1)
                table[place] = <int32_t>k
        place = hash_bytes(<const uint8_t *>&rows[r, 0], width * 4) & (size - 1)
        while table[place] >= 0 and memcmp(&rows[firsts[table[place]], 0], &rows[r, 0], width * 4) != 0:
            place = (place + 1) & (size - 1)
        if table[place] < 0:
            table[place] = <int32_t>found
            firsts[found] = <int32_t>r
            found += 1
        numbers[r] = table[place]
    return np.asarray(numbers), np.asarray(firsts)[:found]

"""The network in integers: from words to tags and trees, the interpreter lock released.

Sentences are taken in groups of some hundred words, in the order of time as in training (see floats), so that weights
are read once for many words. What comes out does not depend on the groups: sums of products are exact, and all else
goes element by element. The sums of the first layer over its input depend on the word alone; a cache has those of
words that were met before.
"""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy, memset

import numpy as np

from covington.arrow.views cimport StringView, view_strings
from covington.base.hashing cimport hash_bytes
from covington.network.greedy cimport Projected, parse
from covington.network.integers cimport BLOCK, MAX_GATE, MAX_SLOT, Integers, Weights, int_matrix
from covington.network.words cimport FormTable, WordView, view_word
from covington.transition.configuration cimport Configuration, release, reserve

cdef enum:
    GROUP_WORDS = 384               # of a group, but for a longer sentence; a row takes 6 kB
    CACHE = 1 << 13                 # words that are remembered; one takes 2 kB
    CACHED_BYTES = 28               # of a word, at most


cdef float STATE_UNIT = <float>1.0 / <float>127.0

# A word whose sums of the first layer are remembered.
cdef struct Known:
    int32_t size                    # bytes, 0 for nobody
    uint8_t text[CACHED_BYTES]


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
        -1), it is read in place of the network's own and written. `confidence` gets what the table says of the action that
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
        cdef Projected where
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
        where = Projected(self.rows, self.row, &starts[0], 0)
        with nogil:
            self.read_words(view, word)
            self.recur(self.net.first, starts, self.states)
            self.find_tags(word, tags, given)
            self.recur(self.net.second, starts, self.states_again)
            self.project(total)
            for s in range(length.shape[0]):
                if length[s]:
                    where.number = s
                    parse(self.net, self.weights.system, &self.c, &where, <int>length[s], single_root, &heads[offsets[chosen[s]]],
                          &labels[offsets[chosen[s]]], NULL if confidence is None else &confidence[offsets[chosen[s]]])
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

"""Epochs of the averaged perceptron that chooses edit scripts, over words that differ in form or tags."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memset

import numpy as np

from covington.arrow.views cimport StringView, is_valid, view_strings
from covington.base.hashing cimport hash_bytes, mix
from covington.lemmas.annotator cimport Workspace
from covington.lemmas.choice cimport Scratch, begin, best_fitting, choose, touch
from covington.lemmas.features cimport Features, MAX_FEATURES, Word, lemma_features, read_word
from covington.lemmas.model cimport MAX_FORM, Core, exact_key


cdef class Learner:
    """Words as arrays of strings: form, part of speech, and all tags of each as one text."""

    cdef Core core
    cdef Workspace space
    cdef StringView forms
    cdef object keep
    cdef uint64_t[::1] tag
    cdef uint64_t[::1] tags

    def __cinit__(self, Core core not None, forms, tag, tags):
        self.core = core
        self.space = Workspace(core)
        self.keep = forms
        view_strings(forms, &self.forms)
        self.tag, self.tags = tag, tags

    cdef bint read(self, Py_ssize_t place, Word* word) noexcept:
        cdef const unsigned char* start = <const unsigned char*>self.forms.data + self.forms.offsets[place]
        cdef Py_ssize_t size = self.forms.offsets[place + 1] - self.forms.offsets[place]
        word.hash, word.tag, word.tags = hash_bytes(start, size), self.tag[place], self.tags[place]
        read_word(&self.core.model.tables, start, size, word)
        return True

    def features(self):
        """The features of all words, one after the other, and where those of each begin."""
        cdef Features features
        cdef Word word
        cdef Py_ssize_t place, count = self.forms.length, at = 0
        cdef int i
        keys = np.zeros(count * MAX_FEATURES, np.uint64)
        starts = np.zeros(count + 1, np.int64)
        cdef uint64_t[::1] key_view = keys
        cdef int64_t[::1] start_view = starts
        for place in range(count):
            self.read(place, &word)
            lemma_features(&word, &features)
            for i in range(features.count):
                key_view[at] = features.keys[i]
                at += 1
            start_view[place + 1] = at
        return keys[:at].copy(), starts

    def exact_keys(self, bint with_all_tags):
        """The key of every word with its part of speech, or with all its tags."""
        cdef Word word
        cdef Py_ssize_t place
        keys = np.zeros(self.forms.length, np.uint64)
        cdef uint64_t[::1] view = keys
        for place in range(self.forms.length):
            self.read(place, &word)
            view[place] = exact_key(&word, with_all_tags)
        return keys

    def learn(
        self, const int64_t[::1] order, const int64_t[::1] starts, const int64_t[::1] ids, const int32_t[::1] gold,
        const int32_t[::1] row_starts, const int32_t[::1] scripts, int32_t[::1] weights, int64_t[::1] totals, int64_t left,
    ) -> int:
        """One epoch; `left` are the words still to come, for the average. How many words were wrong."""
        cdef Scratch* s = &self.space.scratch
        cdef const unsigned char* form
        cdef Py_ssize_t at, place, i, size
        cdef int32_t entry, chosen
        cdef int wrong = 0, change
        for at in range(order.shape[0]):
            place = order[at]
            form = <const unsigned char*>self.forms.data + self.forms.offsets[place]
            size = self.forms.offsets[place + 1] - self.forms.offsets[place]
            left -= 1
            begin(s)
            for i in range(starts[place], starts[place + 1]):
                for entry in range(row_starts[ids[i]], row_starts[ids[i] + 1]):
                    touch(s, scripts[entry], weights[entry])
            chosen = best_fitting(&self.core.model, s, form, <int>size)
            if chosen == gold[place]:
                continue
            wrong += 1
            for i in range(starts[place], starts[place + 1]):
                for entry in range(row_starts[ids[i]], row_starts[ids[i] + 1]):
                    change = (scripts[entry] == gold[place]) - (scripts[entry] == chosen)
                    weights[entry] += change
                    totals[entry] += change * left
        return wrong

    def choices(self):
        """The script of every word as the model has it."""
        cdef Word word
        cdef Py_ssize_t place
        chosen = np.zeros(self.forms.length, np.int32)
        cdef int32_t[::1] view = chosen
        for place in range(self.forms.length):
            self.read(place, &word)
            view[place] = choose(
                &self.core.model, &self.space.scratch, &word,
                <const unsigned char*>self.forms.data + self.forms.offsets[place],
                self.forms.offsets[place + 1] - self.forms.offsets[place],
            )
        return chosen


def tag_hashes(upos, others):
    """The hashes of the tags of words, as the annotator makes them: part of speech, and with the other columns."""
    cdef StringView view
    cdef Py_ssize_t place
    cdef uint64_t value
    tag = np.zeros(len(upos), np.uint64)
    tags = None
    for column in [upos, *others]:
        view_strings(column, &view)
        hashes = np.zeros(len(column), np.uint64)
        for place in range(view.length):
            if is_valid(view.valid, view.valid_from, place):
                hashes[place] = hash_bytes(
                    <const uint8_t*>view.data + view.offsets[place], view.offsets[place + 1] - view.offsets[place]
                )
        if tags is None:
            tag, tags = hashes, hashes.copy()
        else:
            for place in range(view.length):
                tags[place] = mix(tags[place], hashes[place])
    return tag, tags

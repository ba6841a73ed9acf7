"""From Arrow strings to what the network sees of words: numbers of forms and of hashed subwords.

A word's subwords are its prefixes of 1 to 3 characters, its suffixes of 1 to 4, its n-grams of 3 and 4 with a mark at
either end, its shape (upper case, lower case, digits, other characters, runs of more than two cut) and the word itself.
All but the last two are lower-cased. Bytes that are not UTF-8 count as one unknown character each.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

import numpy as np

from covington.arrow_views cimport StringView, view_strings
from covington.hashing cimport SEED, finish, mix

from covington.errors import ModelError

cdef extern from "kernels/lower_case.h":
    uint32_t to_lower(uint32_t character) nogil

cdef enum:
    BEGINNING = 0x110000            # marks for the ends of a word, beyond every character
    END = 0x110001
    UNKNOWN = 0xFFFD
    # kinds of subwords
    PREFIX = 1
    SUFFIX = 2
    N_GRAM = 3
    SHAPE = 4
    WORD = 5
    FORM = 6


cdef inline int next_character(const uint8_t *text, int64_t size, uint32_t *character) noexcept nogil:
    """Decode one character; how many bytes it took."""
    cdef uint32_t first = text[0]
    cdef int length, k
    if first < 0x80:
        character[0] = first
        return 1
    length = 2 if first >> 5 == 6 else 3 if first >> 4 == 14 else 4 if first >> 3 == 30 else 0
    if length == 0 or length > size:
        character[0] = UNKNOWN
        return 1
    first &= 0x7F >> length
    for k in range(1, length):
        if text[k] >> 6 != 2:
            character[0] = UNKNOWN
            return 1
        first = first << 6 | (text[k] & 0x3F)
    character[0] = first
    return length


cdef inline uint32_t class_of(uint32_t character, uint32_t lower) noexcept nogil:
    """What stands for a character in a shape."""
    if character != lower:
        return c'X'
    if c'0' <= character <= c'9':
        return c'd'
    if c'a' <= character <= c'z' or character > 0xBF:
        return c'x'
    return character


cdef inline void add(WordView *view, uint64_t buckets, uint64_t state) noexcept nogil:
    view.subwords[view.subword_count] = <int32_t>(finish(state) % buckets)
    view.subword_count += 1


cdef void view_word(const uint8_t *text, int64_t size, uint64_t buckets, WordView *view) noexcept nogil:
    """The form and the subwords of a word, in a fixed order."""
    cdef uint32_t characters[MAX_CHARACTERS + 2]
    cdef uint32_t last[4]
    cdef uint32_t character, lower, kind, previous = 0
    cdef int64_t place = 0, count = 0
    cdef int known = 1, run = 0, k, n, length
    cdef uint64_t form = mix(SEED, FORM), shape = mix(SEED, SHAPE), word = mix(SEED, WORD), state
    characters[0] = BEGINNING
    view.subword_count = 0
    while place < size:
        place += next_character(text + place, size - place, &character)
        lower = to_lower(character)
        form = mix(form, lower)
        word = mix(word, character)
        kind = class_of(character, lower)
        run = run + 1 if kind == previous else 1
        previous = kind
        if run <= 2:
            shape = mix(shape, kind)
        last[count & 3] = lower
        count += 1
        if known <= MAX_CHARACTERS:
            characters[known] = lower
            known += 1
    view.form = finish(form)
    if known <= MAX_CHARACTERS:
        characters[known] = END
        known += 1
    state = mix(SEED, PREFIX)
    for k in range(min(count, 3)):
        state = mix(state, characters[1 + k])
        add(view, buckets, state)
    state = mix(SEED, SUFFIX)
    for k in range(<int>min(count, 4)):
        state = mix(state, last[(count - 1 - k) & 3])
        add(view, buckets, state)
    for n in range(3, 5):
        for k in range(known - n + 1):
            state = mix(SEED, N_GRAM)
            for length in range(n):
                state = mix(state, characters[k + length])
            add(view, buckets, state)
    add(view, buckets, shape)
    add(view, buckets, word)


cdef class FormTable:
    """The number of each known form, from 1, by the hash of its lower-cased text; 0 is any other."""

    def __init__(self, forms):
        cdef const uint64_t[::1] hashes = np.ascontiguousarray(forms, dtype=np.uint64)
        cdef uint64_t place, size = 16
        cdef Py_ssize_t k
        while size < 2 * <uint64_t>len(hashes):
            size *= 2
        self.mask = size - 1
        self.keys = np.zeros(size, np.uint64)
        self.numbers = np.zeros(size, np.int32)
        for k in range(len(hashes)):
            place = hashes[k] & self.mask
            while self.numbers[place]:
                if self.keys[place] == hashes[k]:
                    raise ModelError(f"form {k} is listed twice")
                place = (place + 1) & self.mask
            self.keys[place] = hashes[k]
            self.numbers[place] = <int32_t>(k + 1)

    cdef int32_t find(self, uint64_t form) noexcept nogil:
        cdef uint64_t place = form & self.mask
        while self.numbers[place]:
            if self.keys[place] == form:
                return self.numbers[place]
            place = (place + 1) & self.mask
        return 0


def hash_forms(words):
    """The hash of each lower-cased form."""
    cdef StringView view
    cdef WordView word
    cdef Py_ssize_t k
    view_strings(words, &view)
    found = np.empty(view.length, np.uint64)
    cdef uint64_t[::1] forms = found
    with nogil:
        for k in range(view.length):
            view_word(<const uint8_t *>view.data + view.offsets[k], view.offsets[k + 1] - view.offsets[k], 1, &word)
            forms[k] = word.form
    return found


def encode(words, FormTable table, int64_t buckets):
    """Numbers of forms; where each word's subwords begin, and the last one's end; numbers of subwords."""
    cdef StringView view
    cdef WordView word
    cdef Py_ssize_t k, n, used = 0
    view_strings(words, &view)
    numbers = np.empty(view.length, np.int32)
    begins = np.zeros(view.length + 1, np.int64)
    cdef int32_t[::1] forms = numbers
    cdef int64_t[::1] ends = begins
    bound = 0 if view.length == 0 else view.offsets[view.length] - view.offsets[0]
    subwords = np.empty(2 * bound + 16 * view.length, np.int32)
    cdef int32_t[::1] found = subwords
    with nogil:
        for k in range(view.length):
            view_word(<const uint8_t *>view.data + view.offsets[k], view.offsets[k + 1] - view.offsets[k],
                      <uint64_t>buckets, &word)
            forms[k] = table.find(word.form)
            for n in range(word.subword_count):
                found[used] = word.subwords[n]
                used += 1
            ends[k + 1] = used
    return numbers, begins, subwords[:used].copy()

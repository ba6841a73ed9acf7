"""Arrow buffers in, hashed values per word out: no Python object per token, the GIL released."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from covington.arrow.views cimport StringView, is_valid, view_strings
from covington.base.hashing cimport SEED, finish, hash_bytes, mix

import numpy as np

from covington.errors import DataError
from covington.features.templates import WORD_ATTRIBUTES

cdef enum:
    WHOLE = 0
    PREFIX = 1
    SUFFIX = 2
    SHAPE = 3
    LETTERS = 3             # characters of a prefix or suffix
    ROOT_VALUE = 0x526F6F74
    NOBODY_VALUE = 0x4E6F6E65
    EMPTY_VALUE = 0x5F

_TAKES = {"whole": WHOLE, "prefix": PREFIX, "suffix": SUFFIX, "shape": SHAPE}


cdef inline bint continues(uint8_t byte) noexcept nogil:
    return byte & 0xC0 == 0x80


cdef uint64_t hash_shape(const uint8_t *text, int64_t length) noexcept nogil:
    """Upper case, lower case, digit, other: runs count once, so `McDonald` is ULUL and `3,000` is DOD."""
    cdef uint64_t state = SEED
    cdef int64_t at
    cdef int kind, last = -1
    for at in range(length):
        if c'A' <= text[at] <= c'Z':
            kind = 0
        elif c'0' <= text[at] <= c'9':
            kind = 2
        elif c'a' <= text[at] <= c'z' or text[at] >= 0x80:
            kind = 1
        else:
            kind = 3
        if kind != last:
            state = mix(state, <uint64_t>kind)
            last = kind
    return finish(state)


cdef uint64_t take(const uint8_t *text, int64_t length, int what) noexcept nogil:
    """The value of a word attribute."""
    cdef int64_t at = 0
    cdef int letters = 0
    if what == WHOLE:
        return hash_bytes(text, length)
    if what == SHAPE:
        return hash_shape(text, length)
    if what == PREFIX:
        while at < length:
            if not continues(text[at]):
                letters += 1
                if letters > LETTERS:
                    break
            at += 1
        return hash_bytes(text, at)
    at = length
    while at > 0 and letters < LETTERS:
        at -= 1
        if not continues(text[at]):
            letters += 1
    return hash_bytes(text + at, length - at)


cdef class _Strings:
    """A string array, held for as long as it is read, and its buffers, which were checked."""
    cdef object array
    cdef StringView view

    def __cinit__(self, array):
        self.array = array
        view_strings(array, &self.view)

    cdef uint64_t value(self, int64_t index, int what) noexcept nogil:
        cdef const int32_t *starts = self.view.offsets + index
        if not is_valid(self.view.valid, self.view.valid_from, index):
            return EMPTY_VALUE
        return take(<const uint8_t *>self.view.data + starts[0], starts[1] - starts[0], what)


cdef class Sentences:
    """Sentences of an Arrow batch, encoded for one list of word attributes.

    The caller (encoding.py) has made every column a plain string array as long as the tokens.
    """

    def __cinit__(self, list attributes, offsets, dict columns, heads=None, labels=None):
        """`attributes` are strings of attribute letters; `columns` maps a column to its strings or None."""
        self.offsets = np.ascontiguousarray(offsets, dtype=np.int64)
        self.count = len(self.offsets) - 1
        self.tokens = self.offsets[self.count]
        self.width = len(attributes)
        self.heads = np.ascontiguousarray(() if heads is None else heads, dtype=np.int32)
        self.labels = np.ascontiguousarray(() if labels is None else labels, dtype=np.int32)
        self.values = np.empty((self.tokens + 2 * self.count) * self.width, dtype=np.uint64)
        self.frame()
        # single letters first: fused attributes are made of them
        letters = sorted({letter for attribute in attributes for letter in attribute})
        single = {}
        for letter in letters:
            single[letter] = self.encode(columns, *WORD_ATTRIBUTES[letter])
        for number, attribute in enumerate(attributes):
            self.fuse([single[letter] for letter in attribute], number)

    def frame(self):
        """Give the root and nobody values of their own, in front of and behind every sentence."""
        cdef int64_t index, root, nobody
        cdef int attribute
        with nogil:
            for index in range(self.count):
                root = (self.offsets[index] + 2 * index) * self.width
                nobody = (self.offsets[index + 1] + 2 * index + 1) * self.width
                for attribute in range(self.width):
                    self.values[root + attribute] = ROOT_VALUE
                    self.values[nobody + attribute] = NOBODY_VALUE

    def encode(self, dict columns, str column, str what):
        """The values of one letter for all tokens."""
        cdef uint64_t[::1] values = np.empty(self.tokens, dtype=np.uint64)
        cdef int64_t token
        cdef int taken = _TAKES[what]
        cdef _Strings strings
        if columns.get(column) is None:
            values[:] = EMPTY_VALUE
            return values
        strings = _Strings(columns[column])
        if strings.view.length != self.tokens:
            raise DataError(f"column {column!r} has {strings.view.length} values for {self.tokens} words")
        with nogil:
            for token in range(self.tokens):
                values[token] = strings.value(token, taken)
        return values

    def fuse(self, list singles, int number):
        """Write an attribute to its place in the rows; several letters are mixed into one value."""
        cdef int64_t index, token, place
        cdef uint64_t[::1] single
        cdef uint64_t[::1] mixed = singles[0]
        if len(singles) > 1:
            mixed = np.full(self.tokens, SEED, dtype=np.uint64)
            for single in singles:
                with nogil:
                    for token in range(self.tokens):
                        mixed[token] = mix(mixed[token], single[token])
        with nogil:
            for index in range(self.count):
                for token in range(self.offsets[index], self.offsets[index + 1]):
                    place = token + 2 * index + 1
                    self.values[place * self.width + number] = mixed[token]

    @staticmethod
    def joined(list attributes, list parts):
        """Sentences that were encoded for the same attributes, one part after the other."""
        cdef Sentences made, part
        lengths = [part.lengths for part in parts]
        made = Sentences(attributes, np.cumsum(np.concatenate([np.zeros(1, np.int64), *lengths])), {})
        if parts:
            made.values = np.concatenate([np.asarray(part.values) for part in parts])
            made.heads = np.concatenate([np.asarray(part.heads) for part in parts])
            made.labels = np.concatenate([np.asarray(part.labels) for part in parts])
        return made

    @property
    def lengths(self):
        """Words per sentence."""
        return np.diff(np.asarray(self.offsets))


def first_bad_tree(int64_t[::1] offsets, const int32_t[::1] heads):
    """Index of the first sentence that is no tree and the word that shows it, or None.

    Heads must be 0..n, no word its own head, no cycles; several words may hang from the root.
    """
    cdef int64_t index, base
    cdef int n, word, above, climbed
    cdef int32_t[::1] seen
    longest = int(np.diff(np.asarray(offsets)).max(initial=0))
    seen = np.zeros(longest + 1, dtype=np.int32)
    for index in range(offsets.shape[0] - 1):
        base = offsets[index]
        n = <int>(offsets[index + 1] - base)
        for word in range(1, n + 1):
            seen[word] = 0
            if heads[base + word - 1] < 0 or heads[base + word - 1] > n:
                return index, word, "out of range"
        for word in range(1, n + 1):
            above = word
            while above > 0 and seen[above] == 0:
                seen[above] = word
                above = heads[base + above - 1]
            if above > 0 and seen[above] == word:
                return index, above, "on a cycle"
    return None

"""The features of a word and its tags that tell its edit script."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from covington.characters.tables cimport DIGIT, UPPER, DASH, Tables, decode, lowered
from covington.base.hashing cimport finish, mix

cdef enum:
    MAX_FEATURES = 48
    ENDS = 16  # characters at either end of a word that are looked at
    SUFFIXES = 7
    PREFIXES = 4


cdef struct Word:
    uint32_t first[ENDS]  # in lower case, from the start
    uint32_t last[ENDS]  # from the end
    int length
    uint64_t shape
    uint64_t hash  # of the bytes
    uint64_t tag  # the part of speech
    uint64_t tags  # with everything else


cdef struct Features:
    uint64_t keys[MAX_FEATURES]
    int count


cdef inline void add(Features* f, uint64_t template, uint64_t a, uint64_t b) noexcept nogil:
    f.keys[f.count] = finish(mix(mix(template, a), b))
    f.count += 1


cdef inline void read_word(Tables* tables, const unsigned char* text, Py_ssize_t size, Word* word) noexcept nogil:
    cdef Py_ssize_t at = 0, back = size
    cdef int width = 1, uppers = 0, n = 0
    cdef bint first_upper = False, has_digit = False, has_dash = False
    cdef uint32_t point
    cdef uint8_t class_
    while at < size:
        point = decode(text + at, &width)
        class_ = tables.classes[point]
        uppers += class_ == UPPER
        has_digit |= class_ == DIGIT
        has_dash |= class_ == DASH
        if n == 0:
            first_upper = class_ == UPPER
        if n < ENDS:
            word.first[n] = lowered(tables, point)
        n += 1
        at += width
    word.length = n
    word.shape = first_upper | (uppers == n) << 1 | (uppers > 1) << 2 | has_digit << 3 | has_dash << 4
    n = 0
    while back > 0 and n < ENDS:
        back -= 1
        while text[back] & 0xC0 == 0x80:
            back -= 1
        word.last[n] = lowered(tables, decode(text + back, &width))
        n += 1


cdef inline void lemma_features(Word* word, Features* f) noexcept nogil:
    """Endings and beginnings, with the part of speech and with all tags; 0 marks the other end of a short word."""
    cdef uint64_t suffix = 0, prefix = 0, suffix2 = 0, suffix3 = 0, prefix2 = 0
    cdef int n
    f.count = 0
    add(f, 1, word.tag, 0)
    add(f, 2, word.tags, 0)
    add(f, 3, word.tag, word.shape)
    add(f, 4, word.tags, word.shape)
    for n in range(SUFFIXES):
        if n > word.length:
            break
        suffix = mix(suffix, word.last[n] if n < word.length else 0)
        add(f, 10 + n, word.tag, suffix)
        if n < 5:
            add(f, 20 + n, word.tags, suffix)
            add(f, 30 + n, 0, suffix)
        if n == 1:
            suffix2 = suffix
        elif n == 2:
            suffix3 = suffix
    for n in range(PREFIXES):
        if n > word.length:
            break
        prefix = mix(prefix, word.first[n] if n < word.length else 0)
        add(f, 40 + n, word.tag, prefix)
        if n < 3:
            add(f, 50 + n, word.tags, prefix)
        if n == 1:
            prefix2 = prefix
    add(f, 60, mix(word.tag, prefix2), suffix2)
    add(f, 61, mix(word.tags, prefix2), suffix2)
    add(f, 62, mix(word.tag, prefix2), suffix3)

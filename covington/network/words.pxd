"""What the network sees of a word: its lower-cased form and its subwords, as numbers."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

cdef enum:
    MAX_CHARACTERS = 40             # of a word that n-grams are taken from
    MAX_SUBWORDS = 2 * MAX_CHARACTERS + 16


cdef struct WordView:
    uint64_t form                   # hash of the lower-cased form
    int subword_count
    int32_t subwords[MAX_SUBWORDS]


cdef void view_word(const uint8_t *text, int64_t size, uint64_t buckets, WordView *view) noexcept nogil


cdef class FormTable:
    cdef uint64_t[::1] keys
    cdef int32_t[::1] numbers
    cdef uint64_t mask

    cdef int32_t find(self, uint64_t form) noexcept nogil

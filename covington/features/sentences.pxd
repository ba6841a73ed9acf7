"""Encoded sentences: 64-bit values per word, ready for feature extraction."""

from libc.stdint cimport int32_t, int64_t, uint64_t


cdef class Sentences:
    cdef readonly int64_t count          # sentences
    cdef readonly int64_t tokens
    cdef readonly int width              # values per word
    cdef readonly int64_t[::1] offsets      # [count + 1], in tokens
    cdef uint64_t[::1] values            # [(tokens + 2 * count) * width]: the root and nobody frame each sentence
    cdef const int32_t[::1] heads        # gold, by token; empty when there are no trees
    cdef const int32_t[::1] labels


cdef inline int length_of(Sentences sentences, int64_t index) noexcept nogil:
    return <int>(sentences.offsets[index + 1] - sentences.offsets[index])


cdef inline const uint64_t *values_of(Sentences sentences, int64_t index) noexcept nogil:
    """The values of the root of a sentence; those of its words follow, then nobody's."""
    return &sentences.values[(sentences.offsets[index] + 2 * index) * sentences.width]

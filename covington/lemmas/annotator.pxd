"""What one thread needs while it annotates."""

from libc.stdint cimport int32_t, uint64_t

from covington.lemmas.choice cimport Scratch

cdef enum:
    MEMO_BYTES = 24


cdef struct Entry:  # a word that is remembered
    unsigned char form[MEMO_BYTES]
    uint64_t tags
    int32_t script
    int32_t size  # 0 for an empty entry


cdef class Workspace:
    cdef Scratch scratch
    cdef Entry* memo

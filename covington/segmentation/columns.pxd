"""The columns of segmented sentences while they grow."""

from libc.stdint cimport int32_t, int64_t

from covington.arrow.buffers cimport Block, Strings

cdef struct Columns:
    Strings sent_id
    Strings text
    Strings comments
    Strings tokens
    Strings misc
    Strings range_ids  # of multiword tokens
    Strings range_forms
    Strings range_misc
    Block word_ends  # int32, list offsets
    Block comment_ends
    Block range_ends
    Block starts  # int64, one per word
    Block ends
    Block positions  # int64, one per sentence
    Block lines
    Block documents
    Py_ssize_t sentences
    Py_ssize_t bytes


cdef void clear(Columns* columns) noexcept nogil
cdef int put_place(Columns* columns, Py_ssize_t word, int64_t start, int64_t end) noexcept nogil
cdef int close_sentence(Columns* columns, int64_t position, int64_t line, int64_t document) noexcept nogil
cdef object record_batch(Columns* columns, str source)

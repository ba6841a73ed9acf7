"""The columns of a batch of sentences while they grow: where each field of a line goes."""

from libc.stdint cimport int32_t, int64_t, uint16_t

from covington.arrow.buffers cimport Block, Strings

cdef enum:
    MOST_WORDS = 65535  # of a sentence: heads are uint16
    FIELDS = 10  # ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC
    FORM = 1
    HEAD = 6
    WORD_COLUMNS = 8  # the fields of a word that are strings: all but ID and HEAD


cdef struct Columns:
    Strings sent_id
    Strings text
    Strings comments
    Strings words[WORD_COLUMNS]
    Py_ssize_t word_room  # words for which there are offsets, bits and heads; the bytes grow by themselves
    Block heads  # uint16
    Block heads_valid  # bits
    Strings multiword[FIELDS]
    Strings empty[FIELDS]
    # list offsets, int32: where the words, comments, ... of each sentence end
    Block word_ends
    Block comment_ends
    Block multiword_ends
    Block empty_ends
    Block positions  # int64
    Block lines  # int64
    Py_ssize_t sentences


cdef void clear(Columns* columns) noexcept nogil
cdef int close_sentence(Columns* columns, int64_t position, int64_t line) noexcept nogil
cdef void roll_back(Columns* columns) noexcept nogil
cdef int make_word_room(Columns* columns) noexcept nogil
cdef object record_batch(Columns* columns, str source)

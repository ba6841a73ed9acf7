"""Tokens to sentences: where each ends, and its columns."""

from libc.stdint cimport int64_t

from covington.segmentation.columns cimport Columns
from covington.segmentation.features cimport Token
from covington.segmentation.tokens cimport Tokenizer
from covington.corpus.conllu.text_output cimport Output

cdef enum:
    AHEAD = 3  # tokens that must be known before a sentence may end
    MAX_SENTENCE = 1024  # tokens; a longer sentence is cut
    MAX_SENTENCE_BYTES = 1 << 20


cdef struct Sentences:
    Columns columns
    Output scratch  # one value that is being put together
    Output sentence_text
    Py_ssize_t start  # the first token of the sentence
    Py_ssize_t next  # the token that is asked about next
    int quotes
    int brackets
    bint is_whole_line  # a line is a sentence: no model is asked
    # where the sentence stands
    Py_ssize_t settled  # bytes up to here have gone to columns or rejects
    int64_t document
    int64_t paragraph  # of the whole input, from 0
    int64_t paragraph_of_document  # from 1
    int64_t sentence  # of the paragraph, from 1
    bint has_document_mark
    bint has_paragraph_mark
    const char* document_id
    Py_ssize_t document_id_size
    # characters
    int64_t in_tokens
    int64_t between


cdef int64_t count_points(const unsigned char* text, Py_ssize_t size) noexcept nogil
cdef void release(Sentences* s) noexcept nogil
cdef bint ends_here(Tokenizer* t, Sentences* s, Py_ssize_t place, Py_ssize_t count, int length) noexcept nogil
cdef void pass_token(Sentences* s, Token* token, bint ends) noexcept nogil
cdef int make_sentences(
    Tokenizer* t, Sentences* s, const unsigned char* text, bint final, Py_ssize_t gap_end
) noexcept nogil

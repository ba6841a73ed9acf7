"""Where the reader stands, what it knows of a sentence, and the ways a sentence can end."""

from libc.stdint cimport int64_t

from covington.corpus.conllu.columns cimport Columns

cdef enum:
    LARGEST_SENTENCE = 64 << 20  # bytes

cdef enum Trouble:  # conllu.pyx has the names by which conllu_rejects knows them
    NONE, COLUMNS, EMPTY_FIELD, WORD_ID, RANGE_ID, EMPTY_ID, BAD_HEAD, FAR_HEAD, LATE_COMMENT, NO_WORDS, TOO_LONG, \
        NOT_UTF8, TOO_LARGE, LONE_RETURN, TROUBLE_COUNT


cdef enum Outcome:
    READ, REJECTED, INCOMPLETE, NOTHING, NO_MEMORY


cdef struct Cursor:
    const char* at
    const char* end
    bint final  # whether the end of the bytes is the end of the file
    int64_t line  # of `at`, from 1
    int64_t position


cdef struct Sentence:
    const char* start
    const char* end  # of the last line that is not blank
    int64_t line
    long words
    long largest_head
    int64_t largest_head_line
    long range_end  # last word of the latest multiword token
    int64_t range_line
    long empty_nodes  # since the last word
    bint range_is_open  # a multiword token waits for its first word
    const char* sent_id
    const char* sent_id_end
    bint has_text
    # the first thing that is wrong
    Trouble trouble
    int64_t trouble_line
    const char* value
    const char* value_end
    long detail


cdef int read_sentence(Cursor* cursor, Columns* columns, Sentence* sentence) noexcept nogil
cdef bint pass_sentence(Cursor* cursor) noexcept nogil

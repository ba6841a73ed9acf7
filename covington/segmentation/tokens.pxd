"""Chunks to tokens: what is between white space is split, and joined again where words hold spaces."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from covington.segmentation.chunks cimport Decoded
from covington.segmentation.core cimport Model
from covington.segmentation.features cimport Border, Features, Token

cdef enum:
    MEMO = 4096  # chunks that are remembered
    MEMO_BYTES = 32  # of a chunk that is
    MEMO_TRAILING = 4  # places at its end that context decides about
    MAX_TOKEN = 1024  # characters; a longer token is cut


cdef struct Chunk:
    Py_ssize_t start
    Py_ssize_t end
    int64_t first_point
    int64_t line
    bint spaced  # white space follows
    bint has_border
    Border border


cdef struct Memo:  # how a chunk was split, where that depends on nothing else
    uint8_t bytes[MEMO_BYTES]
    uint8_t size  # 0 for an empty entry
    uint8_t trailing
    uint8_t offsets[MEMO_TRAILING]
    uint8_t splits[MEMO_TRAILING]
    uint8_t last_class
    uint32_t mask  # bit n: a boundary before byte n
    uint32_t points[MEMO_TRAILING]
    int32_t scores[MEMO_TRAILING]
    int32_t core_length
    uint64_t run


cdef struct Tokenizer:
    Model* model
    Decoded decoded
    Memo* memo
    void* scratch
    int32_t* bounds  # byte offsets of the boundaries of a chunk
    Chunk* chunks
    Py_ssize_t chunk_count
    Py_ssize_t chunks_done
    Py_ssize_t chunk_room
    Token* tokens
    Py_ssize_t token_count
    Py_ssize_t token_room
    bint joined  # the last token goes on in the next chunk
    bint was_joined


cdef int start(Tokenizer* t, Model* model) noexcept nogil
cdef void release(Tokenizer* t) noexcept nogil
cdef int add_chunk(Tokenizer* t, Chunk chunk) noexcept nogil
cdef int add_token(Tokenizer* t) noexcept nogil
cdef int make_tokens(Tokenizer* t, const unsigned char* text, bint final) noexcept nogil


cdef inline Py_ssize_t finished(Tokenizer* t) noexcept nogil:
    """How many tokens will not change any more."""
    return t.token_count - t.joined

"""Chunks to tokens: what is between white space is split, and joined again where words hold spaces."""

from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy, memset

from covington.characters.tables cimport EDGE
from covington.base.hashing cimport hash_bytes
from covington.segmentation.chunks cimport MAX_CHUNK, PAD, SPLIT_ASK, SPLIT_NO, SPLIT_YES, decode_chunk
from covington.segmentation.features cimport (
    border, describe, is_spaceless, join_features, spaceless_features, split_features, trailing_features,
)
from covington.segmentation.linear cimport score


cdef int start(Tokenizer* t, Model* model) noexcept nogil:
    """Take memory; -1 if there is none. What was taken is given back by release() in any case."""
    cdef Py_ssize_t room = MAX_CHUNK + 4 + 2 * PAD
    cdef char* scratch
    memset(t, 0, sizeof(Tokenizer))
    t.model = model
    t.memo = <Memo*>calloc(MEMO, sizeof(Memo))
    scratch = <char*>calloc(room, 2 * sizeof(uint64_t) + 2 * sizeof(uint32_t) + sizeof(int32_t) + 2)
    t.scratch = scratch
    if t.memo == NULL or scratch == NULL:
        return -1
    t.decoded.left = <uint64_t*>scratch
    t.decoded.right = t.decoded.left + room
    t.decoded.points = <uint32_t*>(t.decoded.right + room) + PAD
    t.decoded.offsets = <int32_t*>(t.decoded.points - PAD + room)
    t.bounds = t.decoded.offsets + room
    t.decoded.classes = <uint8_t*>(t.bounds + room) + PAD
    t.decoded.splits = t.decoded.classes - PAD + room
    edge(&t.decoded)
    return 0


cdef void edge(Decoded* d) noexcept nogil:
    """What lies before a chunk; what lies behind it is written with every chunk."""
    cdef int i
    for i in range(1, PAD + 1):
        (d.points - i)[0] = 0
        (d.classes - i)[0] = EDGE


cdef void release(Tokenizer* t) noexcept nogil:
    free(t.memo)
    free(t.scratch)
    free(t.chunks)
    free(t.tokens)
    memset(t, 0, sizeof(Tokenizer))


cdef int add_chunk(Tokenizer* t, Chunk chunk) noexcept nogil:
    cdef Py_ssize_t room
    cdef Chunk* larger
    if t.chunk_count == t.chunk_room:
        room = 2 * t.chunk_room + 64
        larger = <Chunk*>realloc(t.chunks, room * sizeof(Chunk))
        if larger == NULL:
            return -1
        t.chunks, t.chunk_room = larger, room
    t.chunks[t.chunk_count] = chunk
    t.chunk_count += 1
    return 0


cdef int add_token(Tokenizer* t) noexcept nogil:
    cdef Py_ssize_t room
    cdef Token* larger
    if t.token_count == t.token_room:
        room = 2 * t.token_room + 256
        larger = <Token*>realloc(t.tokens, room * sizeof(Token))
        if larger == NULL:
            return -1
        t.tokens, t.token_room = larger, room
    t.token_count += 1
    return 0


cdef inline bint is_split(Model* model, uint8_t known, int32_t inner, Features* features) noexcept nogil:
    return known == SPLIT_YES or (known == SPLIT_ASK and inner + score(&model.splits, features) > 0)


cdef inline Border* border_of(Tokenizer* t, const unsigned char* text, Py_ssize_t place) noexcept nogil:
    """How a chunk begins and ends; outside of the paragraph there is none."""
    cdef Chunk* chunk = &t.chunks[place]
    if not chunk.has_border:
        chunk.border = border(&t.model.tables, text + chunk.start, chunk.end - chunk.start)
        chunk.has_border = True
    return &chunk.border


cdef int split_anew(Tokenizer* t, const unsigned char* text, int size, Border* next, Memo* memo) noexcept nogil:
    """The boundaries of a chunk, asking for every place; what does not depend on `next` goes to the memo."""
    cdef Decoded* d = &t.decoded
    cdef Features features
    cdef int i, last = 0, count = 0, place, trailing
    cdef int32_t inner
    cdef bint yes
    decode_chunk(d, &t.model.tables, text, size)
    trailing = d.count - d.core_end
    if memo != NULL:
        memo.size, memo.mask, memo.trailing = 0, 0, <uint8_t>trailing
        if trailing <= MEMO_TRAILING:
            memcpy(memo.bytes, text, size)
            memo.size = <uint8_t>size
            memo.run, memo.core_length = d.left[d.core_end], d.core_end
            memo.last_class = d.classes[d.core_end - 1]
    for i in range(1, d.count):
        features.count = 0
        inner = 0
        if d.splits[i] == SPLIT_ASK:
            split_features(d, i, &features)
            if is_spaceless(d, i):
                spaceless_features(d, i, last, &features)
            inner = score(&t.model.splits, &features)
        features.count = 0
        if i >= d.core_end:
            if memo != NULL and memo.size:
                place = i - d.core_end
                memo.offsets[place], memo.splits[place] = <uint8_t>d.offsets[i], d.splits[i]
                memo.points[place], memo.scores[place] = d.points[i], inner
            if d.splits[i] == SPLIT_ASK:
                trailing_features(
                    d.left[d.core_end], d.core_end, d.classes[d.core_end - 1], d.points[i], d.count - i, next, &features
                )
        yes = is_split(t.model, d.splits[i], inner, &features)
        if i - last >= MAX_TOKEN:
            yes = True
        if yes:
            if memo != NULL and i < d.core_end:
                memo.mask |= <uint32_t>1 << d.offsets[i]
            t.bounds[count] = d.offsets[i]
            count += 1
            last = i
    return count


cdef int split_again(Tokenizer* t, Memo* memo, Border* next) noexcept nogil:
    """The boundaries of a chunk that is in the memo."""
    cdef Features features
    cdef uint32_t mask = memo.mask
    cdef int count = 0, i
    while mask:
        t.bounds[count] = lowest(mask)
        mask &= mask - 1
        count += 1
    for i in range(memo.trailing):
        features.count = 0
        if memo.splits[i] == SPLIT_ASK:
            trailing_features(
                memo.run, memo.core_length, memo.last_class, memo.points[i], memo.trailing - i, next, &features
            )
        if is_split(t.model, memo.splits[i], memo.scores[i], &features):
            t.bounds[count] = memo.offsets[i]
            count += 1
    return count


cdef extern from *:
    int lowest "__builtin_ctz"(uint32_t bits) noexcept nogil


cdef int split_chunk(Tokenizer* t, const unsigned char* text, Chunk* chunk, Border* next) noexcept nogil:
    cdef Py_ssize_t size = chunk.end - chunk.start
    cdef const unsigned char* start = text + chunk.start
    cdef Memo* memo
    if size == 1:
        return 0
    if size >= MEMO_BYTES:
        return split_anew(t, start, <int>size, next, NULL)
    memo = &t.memo[hash_bytes(start, size) & (MEMO - 1)]
    if memo.size == size and memcmp(memo.bytes, start, size) == 0:
        return split_again(t, memo, next)
    return split_anew(t, start, <int>size, next, memo)


cdef bint is_joined(Tokenizer* t, const unsigned char* text, Py_ssize_t place, Border* none) noexcept nogil:
    """Whether the space after a chunk is part of a token."""
    cdef Features features
    cdef Chunk* chunk = &t.chunks[place]
    if not t.model.has_joins or not chunk.spaced or place + 1 == t.chunk_count:
        return False
    features.count = 0
    join_features(
        border_of(t, text, place - 1) if place else none, border_of(t, text, place), border_of(t, text, place + 1),
        border_of(t, text, place + 2) if place + 2 < t.chunk_count else none, t.was_joined, &features,
    )
    return score(&t.model.joins, &features) > 0


cdef int make_tokens(Tokenizer* t, const unsigned char* text, bint final) noexcept nogil:
    """Tokens of all chunks whose two followers are known, or of all if there will be no more in this paragraph."""
    cdef Border none = border(&t.model.tables, text, 0)
    cdef Chunk* chunk
    cdef Token* token
    cdef int count, i
    cdef Py_ssize_t at
    while t.chunks_done < t.chunk_count - (0 if final else 2):
        chunk = &t.chunks[t.chunks_done]
        count = split_chunk(
            t, text, chunk,
            border_of(t, text, t.chunks_done + 1) if t.chunks_done + 1 < t.chunk_count else &none,
        )
        t.bounds[count] = <int32_t>(chunk.end - chunk.start)
        at = chunk.start
        for i in range(count + 1):
            if t.joined:
                t.joined = False
                token = &t.tokens[t.token_count - 1]
            else:
                if add_token(t) < 0:
                    return -1
                token = &t.tokens[t.token_count - 1]
                token.start = at
                token.first_point = chunk.first_point if i == 0 else (token - 1).last_point
                token.line = chunk.line
            at = token.end = chunk.start + t.bounds[i]
            token.spaced = i == count and chunk.spaced
            describe(&t.model.tables, text, token)
        t.was_joined = is_joined(t, text, t.chunks_done, &none) and token.length < 255
        t.joined = t.was_joined
        t.chunks_done += 1
    return 0

"""A chunk is what stands between white space; here it is decoded, and what must stay whole in it is found."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from covington.characters.tables cimport (
    CLOSE, COMMA, DASH, DIGIT, EDGE, EMOJI, FLAG, HAN, HIRAGANA, JOINER, KATAKANA, LETTER, LOWER, MARK, MODIFIER,
    OPEN, PUNCTUATION, QUOTE, SOUTHEAST, TERMINAL, UPPER, Tables, decode, is_extension, is_word, lowered,
)
from covington.base.hashing cimport mix

cdef enum:
    MAX_CHUNK = 16384  # bytes; a longer one is cut
    PAD = 4  # places on either side of the decoded characters
    MAX_RUN = 16  # characters of a run that is told from others
    SPLIT_NO, SPLIT_ASK, SPLIT_YES  # what is known about a place before the model is asked


cdef struct Decoded:
    uint32_t* points  # in lower case
    uint8_t* classes
    uint8_t* splits  # of the place before each character
    int32_t* offsets  # bytes from the start of the chunk; one more than there are characters
    uint64_t* left  # hash of the run that ends before the place
    uint64_t* right  # hash of the run that starts at the place
    int count
    int core_end  # where closing punctuation begins that context decides about; count if there is none


cdef inline int run_kind(uint8_t class_) noexcept nogil:
    """Characters of one kind, other than 0, make up a run."""
    if class_ == HAN or class_ == HIRAGANA or class_ == KATAKANA or class_ == SOUTHEAST:
        return class_
    return 1 if is_word(class_) else 0


cdef inline bint is_trailing(uint8_t class_) noexcept nogil:
    return OPEN <= class_ <= COMMA or class_ == PUNCTUATION


cdef inline void close_runs(Decoded* d) noexcept nogil:
    """The hashes of the runs on both sides of every place."""
    cdef int i, kind, length = 0, last = -1
    cdef uint64_t state = 0
    d.left[0] = 0
    for i in range(d.count):
        kind = run_kind(d.classes[i])
        if kind == 0 or kind != last:
            state, length = 0, 0
        if length < MAX_RUN:
            state = mix(state, d.points[i])
        else:
            state = 1
        length += 1
        last = kind
        d.left[i + 1] = state
    last = -1
    d.right[d.count] = 0
    for i in range(d.count - 1, -1, -1):
        kind = run_kind(d.classes[i])
        if kind == 0 or kind != last:
            state, length = 0, 0
        if length < MAX_RUN:
            state = mix(state, d.points[i])
        else:
            state = 1
        length += 1
        last = kind
        d.right[i] = state


cdef inline bint is_address_end(uint32_t point) noexcept nogil:
    """Characters at which an address ends: quotes and brackets that no address has."""
    return (
        point == c"<" or point == c">" or point == c'"' or point == 0xAB or point == 0xBB
        or 0x2018 <= point <= 0x201F or 0x3001 <= point <= 0x3002 or 0xFF00 <= point <= 0xFF0F
    )


cdef inline bint is_mail(uint32_t point, uint8_t class_) noexcept nogil:
    return class_ == DIGIT or class_ == LOWER or class_ == UPPER or (
        point == c"." or point == c"_" or point == c"%" or point == c"+" or point == c"-"
    )


cdef inline bint spells(Decoded* d, int i, const char* text, int size) noexcept nogil:
    cdef int k
    if i < 0 or i + size > d.count:
        return False
    for k in range(size):
        if d.points[i + k] != <uint32_t>text[k]:
            return False
    return True


cdef inline int trimmed(Decoded* d, int start, int end) noexcept nogil:
    """The end of an address without the punctuation that follows it; a bracket that was opened in it stays."""
    cdef int k, depth = 0
    cdef uint32_t point
    for k in range(start, end):
        depth += (d.points[k] == c"(") - (d.points[k] == c")")
    while end > start:
        point = d.points[end - 1]
        if point == c")":
            if depth >= 0:
                return end
            depth += 1
        elif not is_trailing(d.classes[end - 1]) or point == c"/" or point == c"#" or point == c"&" or point == c"@":
            return end
        elif point == c"(":
            depth -= 1
        end -= 1
    return end


cdef inline void keep_whole(Decoded* d, int start, int end) noexcept nogil:
    cdef int i
    for i in range(start + 1, end):
        d.splits[i] = SPLIT_NO
    if start > 0 and d.splits[start] != SPLIT_NO:
        d.splits[start] = SPLIT_YES
    if end < d.count and d.splits[end] != SPLIT_NO:
        d.splits[end] = SPLIT_YES


cdef inline int find_url(Decoded* d, int i) noexcept nogil:
    """Where the address that starts here ends, or -1: a scheme and ://, or www and a dot."""
    cdef int k = i, end
    if spells(d, i, b"www.", 4) and i + 4 < d.count and is_word(d.classes[i + 4]):
        k = i + 4
    else:
        while k < d.count and k - i < 12 and (d.classes[k] == LOWER or d.classes[k] == UPPER):
            k += 1
        if k - i < 2 or not spells(d, k, b"://", 3) or k + 3 >= d.count or not is_word(d.classes[k + 3]):
            return -1
        k += 3
    while k < d.count and not is_address_end(d.points[k]):
        k += 1
    end = trimmed(d, i, k)
    return end


cdef inline void find_addresses(Decoded* d) noexcept nogil:
    """URLs and mail addresses are one token each."""
    cdef int i = 0, start, end, dot, k
    while i < d.count:
        if d.classes[i] == LOWER or d.classes[i] == UPPER:
            if i == 0 or not is_word(d.classes[i - 1]):
                end = find_url(d, i)
                if end > 0:
                    keep_whole(d, i, end)
                    i = end
                    continue
        elif d.points[i] == c"@" and i > 0 and is_mail(d.points[i - 1], d.classes[i - 1]):
            start, end, dot = i, i + 1, -1
            while start > 0 and i - start < 64 and is_mail(d.points[start - 1], d.classes[start - 1]):
                start -= 1
            while end < d.count and end - i < 256 and is_mail(d.points[end], d.classes[end]):
                if d.points[end] == c"." and end > i + 1:
                    dot = end
                end += 1
            while end > i and not is_word(d.classes[end - 1]):
                end -= 1
            while start < i and not is_word(d.classes[start]):
                start += 1
            dot = -1
            for k in range(i + 2, end - 2):
                if d.points[k] == c".":
                    dot = k
            if dot > 0 and start < i:
                keep_whole(d, start, end)
                i = end
                continue
        i += 1


cdef inline void decode_chunk(Decoded* d, Tables* tables, const unsigned char* text, Py_ssize_t size) noexcept nogil:
    """Characters, classes, runs, and the places that no model is asked about."""
    cdef Py_ssize_t at = 0
    cdef int n = 0, width = 1, i, flags = 0
    cdef uint32_t point
    cdef uint8_t class_, before = EDGE
    cdef bint address = False
    while at < size:
        point = decode(text + at, &width)
        class_ = tables.classes[point]
        address |= point == c"@" or point == c":" or (point == c"." and n >= 3 and d.points[n - 1] == c"w")
        d.points[n] = lowered(tables, point)
        d.classes[n] = class_
        d.offsets[n] = <int32_t>at
        if is_extension(class_) or before == JOINER:
            d.splits[n] = SPLIT_NO
        elif class_ == FLAG and before == FLAG and flags % 2 == 1:
            d.splits[n] = SPLIT_NO  # two letters make a flag
        else:
            d.splits[n] = SPLIT_ASK
        flags = flags + 1 if class_ == FLAG else 0
        before = class_
        n += 1
        at += width
    d.splits[0] = SPLIT_NO
    d.offsets[n] = <int32_t>size
    d.count = n
    for i in range(PAD):
        d.points[n + i] = 0
        d.classes[n + i] = EDGE
    d.core_end = n
    while d.core_end > 0 and is_trailing(d.classes[d.core_end - 1]):
        d.core_end -= 1
    if d.core_end == 0:
        d.core_end = n
    close_runs(d)
    if address:
        find_addresses(d)

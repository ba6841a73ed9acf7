"""The features of the four questions: split here, join over this space, sentence ends here, token has several words."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from covington.characters.tables cimport (
    DIGIT, EDGE, HAN, HIRAGANA, KATAKANA, LOWER, QUOTE, SOUTHEAST, TERMINAL, UPPER, Tables, decode, is_word, lowered,
)
from covington.base.hashing cimport mix
from covington.segmentation.chunks cimport PAD, Decoded, run_kind
from covington.segmentation.linear cimport Features, add1, add2, add3

cdef enum:
    SPLIT = 100  # templates, counted from here
    TRAILING = 200
    JOIN = 300
    END = 400
    WORDS = 500
    MAX_HEAD = 16  # characters at either end of a chunk that are told from others
    MAX_SHAPE = 12  # characters whose classes make the shape of a token


cdef struct Border:  # how a chunk begins and ends, seen from its neighbours
    uint64_t head  # hash of the run of letters and digits, or of one character
    uint64_t tail
    uint8_t head_class
    uint8_t tail_class  # of the first character of the tail
    uint8_t last_class
    bint is_whole  # head and tail are the same


cdef struct Token:
    Py_ssize_t start  # bytes
    Py_ssize_t end
    int64_t first_point  # code points from the start of the document
    int64_t last_point  # of the one after the end
    int64_t line
    uint64_t hash  # of the characters in lower case
    uint64_t shape
    uint64_t suffix  # hash of the last two characters
    uint8_t first_class
    uint8_t last_class
    uint8_t length  # characters, at most 255
    uint8_t spaced  # a space follows


cdef inline uint64_t pack(uint64_t a, uint64_t b, uint64_t c) noexcept nogil:
    return a << 42 | b << 21 | c


cdef inline void split_features(Decoded* d, int i, Features* f) noexcept nogil:
    """Is there a token boundary before character i of the chunk?"""
    cdef uint32_t* p = d.points + i - PAD  # p[3] and p[4] are on either side of the place
    cdef uint8_t* c = d.classes + i - PAD
    cdef uint32_t near = <uint32_t>c[2] << 24 | c[3] << 16 | c[4] << 8 | c[5]
    cdef uint64_t wide = <uint64_t>c[1] << 40 | <uint64_t>near << 8 | c[6]
    cdef uint64_t left = pack(p[1], p[2], p[3]), right = pack(p[4], p[5], p[6])
    cdef int from_start = i if i < 6 else 6, to_end = d.count - i if d.count - i < 6 else 6
    add1(f, SPLIT + 1, pack(0, 0, p[3]))
    add1(f, SPLIT + 2, pack(0, 0, p[4]))
    add1(f, SPLIT + 3, pack(0, p[3], p[4]))
    add1(f, SPLIT + 4, pack(0, p[2], p[3]))
    add1(f, SPLIT + 5, pack(0, p[4], p[5]))
    add1(f, SPLIT + 6, left)
    add1(f, SPLIT + 7, right)
    add1(f, SPLIT + 8, pack(p[2], p[3], p[4]))
    add1(f, SPLIT + 9, pack(p[3], p[4], p[5]))
    add2(f, SPLIT + 10, pack(p[2], p[3], p[4]), p[5])
    add2(f, SPLIT + 11, left, p[4])
    add2(f, SPLIT + 12, right, p[3])
    add2(f, SPLIT + 13, left, p[0])
    add2(f, SPLIT + 14, right, p[7])
    add1(f, SPLIT + 15, near >> 8 & 0xFFFF)
    add1(f, SPLIT + 16, near)
    add1(f, SPLIT + 17, wide)
    add2(f, SPLIT + 18, c[3], p[4])
    add2(f, SPLIT + 19, c[4], p[3])
    add2(f, SPLIT + 20, d.left[i], p[4])
    add2(f, SPLIT + 21, d.right[i], p[3])
    add2(f, SPLIT + 22, d.left[i], d.right[i])
    add3(f, SPLIT + 23, from_start, to_end, near >> 8 & 0xFFFF)
    add2(f, SPLIT + 24, left, right)


cdef inline bint is_spaceless(Decoded* d, int i) noexcept nogil:
    """Whether the place is within a script that has no spaces."""
    return run_kind(d.classes[i]) > 1 and run_kind((d.classes + i - 1)[0]) > 1


cdef inline void spaceless_features(Decoded* d, int i, int last, Features* f) noexcept nogil:
    """The token so far, which began at `last`: of a long one, its length and its last characters."""
    cdef uint64_t so_far = 0
    cdef int k, length = i - last
    cdef uint32_t here = d.points[i], next = d.points[i + 1]
    for k in range(last if length <= 6 else i - 6, i):
        so_far = mix(so_far, d.points[k])
    length = length if length < 6 else 6
    add1(f, SPLIT + 30, length)
    add2(f, SPLIT + 31, length, so_far)
    add3(f, SPLIT + 32, length, so_far, here)
    add3(f, SPLIT + 33, length, so_far, pack(0, here, next))
    add2(f, SPLIT + 34, length, pack(d.classes[i - 1], d.classes[i], d.classes[i + 1]))
    add3(f, SPLIT + 35, length, d.points[i - 1], here)


cdef inline void trailing_features(
    uint64_t run, int length, uint8_t last_class, uint32_t point, int rest, Border* next, Features* f
) noexcept nogil:
    """What follows the chunk, for closing punctuation: `run` is what stands before it, `rest` how much of it there is."""
    cdef uint64_t here = pack(rest if rest < 3 else 3, 0, point)
    cdef uint64_t shape = (length if length < 4 else 4) << 8 | last_class
    add2(f, TRAILING + 1, here, next.head_class)
    add3(f, TRAILING + 2, here, run, next.head_class)
    add2(f, TRAILING + 3, here, next.head)
    add3(f, TRAILING + 4, here, shape, next.head_class)
    add3(f, TRAILING + 5, run, point, next.head)


cdef inline Border border(Tables* tables, const unsigned char* text, Py_ssize_t size) noexcept nogil:
    """The ends of a chunk; of no chunk, if it has no bytes."""
    cdef Border result
    cdef Py_ssize_t at = 0, back = size
    cdef int width = 1, kind, n = 0
    cdef uint32_t point
    cdef uint8_t class_
    result.head = result.tail = 0
    result.head_class = result.tail_class = result.last_class = EDGE
    result.is_whole = False
    if size == 0:
        return result
    point = decode(text, &width)
    result.head_class = tables.classes[point]
    kind = run_kind(result.head_class)
    while True:
        result.head = mix(result.head, lowered(tables, point))
        at += width
        n += 1
        if at >= size or kind == 0 or n == MAX_HEAD:
            break
        point = decode(text + at, &width)
        if run_kind(tables.classes[point]) != kind:
            break
    result.is_whole = at >= size
    kind, n = -1, 0
    while back > 0 and n < MAX_HEAD:
        at = back - 1
        while text[at] & 0xC0 == 0x80:
            at -= 1
        point = decode(text + at, &width)
        class_ = tables.classes[point]
        if kind < 0:
            kind = run_kind(class_)
            result.last_class = class_
        elif kind == 0 or run_kind(class_) != kind:
            break
        result.tail_class = class_
        back = at
        n += 1
    n = 0
    while back < size and n < MAX_HEAD:
        point = decode(text + back, &width)
        result.tail = mix(result.tail, lowered(tables, point))
        back += width
        n += 1
    return result


cdef inline void join_features(Border* before, Border* left, Border* right, Border* after, bint joined, Features* f) noexcept nogil:
    """Is the space between two chunks part of a token? `joined`: the one before it was."""
    cdef uint64_t classes = left.tail_class << 24 | left.last_class << 16 | right.head_class << 8 | right.is_whole
    add1(f, JOIN + 1, left.tail)
    add1(f, JOIN + 2, right.head)
    add2(f, JOIN + 3, left.tail, right.head)
    add1(f, JOIN + 4, classes)
    add3(f, JOIN + 5, before.tail, left.tail, right.head)
    add3(f, JOIN + 6, left.tail, right.head, after.head)
    add2(f, JOIN + 7, before.tail, left.tail)
    add2(f, JOIN + 8, right.head, after.head)
    add2(f, JOIN + 9, left.tail, right.head_class)
    add2(f, JOIN + 10, left.last_class << 8 | left.tail_class, right.head)
    add3(f, JOIN + 11, before.last_class << 8 | before.tail_class, classes, after.head_class)
    add3(f, JOIN + 12, joined, left.tail, right.head)
    add2(f, JOIN + 13, joined, classes)
    add2(f, JOIN + 14, before.tail, right.head)
    add2(f, JOIN + 15, left.tail, after.head)
    add3(f, JOIN + 16, joined, left.tail, right.head_class)
    add3(f, JOIN + 17, joined, right.head, after.head_class)
    add3(f, JOIN + 18, joined, before.tail, left.tail)


cdef inline void describe(Tables* tables, const unsigned char* text, Token* token) noexcept nogil:
    """Hash, shape and the rest of a token, from its characters."""
    cdef Py_ssize_t at = token.start
    cdef int width = 1, n = 0
    cdef uint32_t point, before = 0
    cdef uint8_t class_ = EDGE, last = EDGE
    token.hash = token.shape = 0
    while at < token.end:
        point = decode(text + at, &width)
        class_ = tables.classes[point]
        if at == token.start:
            token.first_class = class_
        point = lowered(tables, point)
        token.hash = mix(token.hash, point)
        token.suffix = pack(0, before, point)
        before = point
        if class_ != last and n < MAX_SHAPE:
            token.shape = mix(token.shape, class_)
            last = class_
        n += 1
        at += width
    token.shape = mix(token.shape, n if n < 4 else 4)
    token.last_class = class_
    token.length = <uint8_t>(n if n < 255 else 255)
    token.last_point = token.first_point + n


cdef inline void end_features(
    Token* t2, Token* t1, Token* t, Token* n1, Token* n2, Token* n3, int length, int quotes, int brackets, Features* f
) noexcept nogil:
    """Does a sentence end after token t, the `length`-th of its own?"""
    cdef uint64_t here = <uint64_t>t.spaced << 16 | t.last_class << 8 | n1.first_class
    cdef uint64_t open_ = <uint64_t>(quotes & 1) << 8 | (brackets if brackets < 2 else 2)
    cdef uint64_t size = length if length < 4 else 4 if length < 8 else 8 if length < 16 else 16 if length < 40 else 40
    cdef uint64_t next = mix(n1.hash, n1.first_class)
    add1(f, END + 1, t.hash)
    add1(f, END + 2, next)
    add2(f, END + 3, t.hash, next)
    add2(f, END + 4, t1.hash, t.hash)
    add2(f, END + 5, next, n2.hash)
    add1(f, END + 6, here)
    add2(f, END + 7, t.shape, n1.shape)
    add3(f, END + 8, t1.hash, t.hash, n1.first_class)
    add3(f, END + 9, t.hash, n1.first_class, n2.first_class)
    add3(f, END + 10, t1.shape, t.hash, n1.shape)
    add2(f, END + 11, t.hash, here)
    add2(f, END + 12, size, here)
    add2(f, END + 13, size, t.hash)
    add2(f, END + 14, open_, here)
    add3(f, END + 15, open_, t.hash, n1.first_class)
    add2(f, END + 16, n2.hash, here)
    add2(f, END + 17, n3.hash, here)
    add3(f, END + 18, t.last_class, n1.shape, n2.shape)
    add3(f, END + 19, here, n2.shape, n3.shape)
    add3(f, END + 20, t2.hash, t1.hash, here)
    add2(f, END + 21, t1.shape, here)
    add2(f, END + 22, n1.length if n1.length < 4 else 4, here)
    add2(f, END + 23, next, here)
    add2(f, END + 24, t.suffix, here)
    add3(f, END + 25, size, t.shape, n1.shape)
    add2(f, END + 26, n1.suffix, here)
    add3(f, END + 27, t.shape, n1.shape, n2.shape)
    add3(f, END + 28, t1.shape, t.shape, n1.shape)
    add3(f, END + 29, next, n2.first_class, here)
    add3(f, END + 30, size, t1.shape, here)
    add3(f, END + 31, t.suffix, n1.suffix, here)


cdef inline void words_features(Token* t1, Token* t, Token* n1, uint64_t script, bint in_context, Features* f) noexcept nogil:
    """Does the token stand for several words, as the script would have it? `in_context`: the form alone does not tell."""
    add1(f, WORDS + 1, script)
    add2(f, WORDS + 2, script, t.suffix)
    add2(f, WORDS + 3, script, t.shape)
    add2(f, WORDS + 4, script, t.length)
    add2(f, WORDS + 5, script, t.first_class)
    if not in_context:
        return
    add1(f, WORDS + 10, t.hash)
    add2(f, WORDS + 11, t.hash, t1.hash)
    add2(f, WORDS + 12, t.hash, n1.hash)
    add3(f, WORDS + 13, t.hash, t1.hash, n1.hash)
    add2(f, WORDS + 14, t.hash, t1.suffix)
    add2(f, WORDS + 15, t.hash, n1.suffix)
    add3(f, WORDS + 16, t.hash, t1.suffix, n1.suffix)
    add2(f, WORDS + 17, t.hash, n1.shape)
    add2(f, WORDS + 18, t.hash, t1.shape)
    add2(f, WORDS + 19, t.hash, t.first_class)

"""Classes and cases of characters for compiled code; text is UTF-8 that was checked before."""

from libc.stdint cimport int32_t, uint8_t, uint32_t

cdef enum Class:  # in the order of CLASSES in build.py
    OTHER, SPACE, DIGIT, NUMBER, UPPER, LOWER, LETTER, HAN, HIRAGANA, KATAKANA, HANGUL, SOUTHEAST, MARK
    JOINER, FORMAT, MODIFIER, FLAG, EMOJI, OPEN, CLOSE, QUOTE, DASH, TERMINAL, COMMA, CONNECTOR
    PUNCTUATION, CURRENCY, MATH, SYMBOL
    EDGE  # of what lies outside a chunk; no character has it


cdef enum:
    CASED = 0x1F000


cdef struct Tables:
    const uint8_t* classes  # 0x110000 of them
    const int32_t* lower  # CASED of them: the distance to the lower case
    const int32_t* upper


cdef Tables tables() noexcept nogil


cdef inline uint32_t decode(const unsigned char* at, int* size) noexcept nogil:
    """The code point that starts here, and how many bytes it has."""
    cdef uint32_t first = at[0]
    if first < 0x80:
        size[0] = 1
        return first
    if first < 0xE0:
        size[0] = 2
        return (first & 0x1F) << 6 | (at[1] & 0x3F)
    if first < 0xF0:
        size[0] = 3
        return (first & 0x0F) << 12 | (at[1] & 0x3F) << 6 | (at[2] & 0x3F)
    size[0] = 4
    return (first & 0x07) << 18 | (at[1] & 0x3F) << 12 | (at[2] & 0x3F) << 6 | (at[3] & 0x3F)


cdef inline int encode(uint32_t point, unsigned char* at) noexcept nogil:
    """Write a code point as UTF-8, up to four bytes; how many."""
    if point < 0x80:
        at[0] = <unsigned char>point
        return 1
    if point < 0x800:
        at[0] = <unsigned char>(0xC0 | point >> 6)
        at[1] = <unsigned char>(0x80 | (point & 0x3F))
        return 2
    if point < 0x10000:
        at[0] = <unsigned char>(0xE0 | point >> 12)
        at[1] = <unsigned char>(0x80 | (point >> 6 & 0x3F))
        at[2] = <unsigned char>(0x80 | (point & 0x3F))
        return 3
    at[0] = <unsigned char>(0xF0 | point >> 18)
    at[1] = <unsigned char>(0x80 | (point >> 12 & 0x3F))
    at[2] = <unsigned char>(0x80 | (point >> 6 & 0x3F))
    at[3] = <unsigned char>(0x80 | (point & 0x3F))
    return 4


cdef inline uint32_t lowered(Tables* tables, uint32_t point) noexcept nogil:
    return point + <uint32_t>tables.lower[point] if point < CASED else point


cdef inline uint32_t raised(Tables* tables, uint32_t point) noexcept nogil:
    return point + <uint32_t>tables.upper[point] if point < CASED else point


cdef inline bint is_extension(uint8_t class_) noexcept nogil:
    """Whether a character belongs to the one before it, whatever that is."""
    return MARK <= class_ <= MODIFIER


cdef inline bint is_word(uint8_t class_) noexcept nogil:
    """Letters, digits and what belongs to the character before."""
    return DIGIT <= class_ <= MODIFIER

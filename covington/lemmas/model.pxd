"""The model of a lemmatiser as compiled code follows it: scripts, exceptions, and rows of weights."""

from libc.stdint cimport int16_t, int32_t, uint16_t, uint32_t, uint64_t

from covington.characters.tables cimport (
    Tables, decode, encode, lowered, raised,
)
from covington.base.hashing cimport finish, hash_bytes, mix
from covington.lemmas.features cimport Features, Word

cdef enum:
    AS_IT_STANDS, LOWER, TITLE, UPPER, WHOLE  # the cases of scripts.py
    MAX_FORM = 1000  # bytes of a word that is edited
    MAX_LEMMA = 16384  # bytes
    MAX_SCRIPTS = 32768
    NONE = -1


cdef struct Script:
    int32_t case_
    int32_t prefix_off  # where its texts are; each ends where the next begins
    int32_t prefix_on
    int32_t suffix_off
    int32_t suffix_on
    int32_t end


cdef struct Model:
    Tables tables
    const Script* scripts
    int script_count
    const unsigned char* literals
    const uint32_t* exception_keys  # two tables of the same kind; the key 0 is an empty place
    const int32_t* exception_values
    uint64_t exception_mask
    const uint32_t* feature_keys
    const int32_t* feature_rows
    uint64_t feature_mask
    const int32_t* row_starts
    const uint16_t* entry_scripts
    const int16_t* entry_weights


cdef inline int32_t find(const uint32_t* keys, const int32_t* values, uint64_t mask, uint64_t key) noexcept nogil:
    """A key's upper half is its place, its lower half tells it from others."""
    cdef uint64_t place = key >> 32 & mask
    cdef uint32_t mark = <uint32_t>key if <uint32_t>key else 1
    while keys[place]:
        if keys[place] == mark:
            return values[place]
        place = (place + 1) & mask
    return NONE


cdef inline uint64_t exact_key(Word* word, bint with_all_tags) noexcept nogil:
    return finish(mix(mix(70 + with_all_tags, word.hash), word.tags if with_all_tags else word.tag))


cdef inline bint same_case(Tables* tables, uint32_t point, bint lower, uint32_t other) noexcept nogil:
    return (lowered(tables, point) if lower else point) == other


cdef inline int put_literal(
    Model* model, int32_t start, int32_t end, unsigned char* out, int size
) noexcept nogil:
    cdef int32_t at
    for at in range(start, end):
        out[size] = model.literals[at]
        size += 1
    return size


cdef inline int apply_script(
    Model* model, int32_t number, const unsigned char* form, int size, unsigned char* out, unsigned char* scratch
) noexcept nogil:
    """Write the lemma of a word of at most MAX_FORM bytes; its size, or -1 if the script does not fit."""
    cdef const Script* s = &model.scripts[number]
    cdef Tables* tables = &model.tables
    cdef bint lower = s.case_ != AS_IT_STANDS
    cdef int at = 0, end = size, width = 1, made = 0, other = 1
    cdef int32_t place
    cdef uint32_t point
    if s.case_ == WHOLE:
        return put_literal(model, s.suffix_on, s.end, out, 0)
    place = s.prefix_off
    while place < s.prefix_on:
        if at >= size:
            return -1
        point = decode(form + at, &width)
        if not same_case(tables, point, lower, decode(model.literals + place, &other)):
            return -1
        place += other
        at += width
    place = s.suffix_on
    while place > s.suffix_off:
        if end <= at:
            return -1
        place -= 1
        while model.literals[place] & 0xC0 == 0x80:
            place -= 1
        end -= 1
        while form[end] & 0xC0 == 0x80:
            end -= 1
        if not same_case(tables, decode(form + end, &width), lower, decode(model.literals + place, &other)):
            return -1
    made = put_literal(model, s.prefix_on, s.suffix_off, out, 0)
    while at < end:
        point = decode(form + at, &width)
        made += encode(lowered(tables, point) if lower else point, out + made)
        at += width
    made = put_literal(model, s.suffix_on, s.end, out, made)
    if s.case_ == TITLE or s.case_ == UPPER:
        made = raise_case(tables, out, made, s.case_ == UPPER, scratch)
    return made if made else -1


cdef inline int raise_case(Tables* tables, unsigned char* out, int size, bint all_, unsigned char* scratch) noexcept nogil:
    """The first character or all of them in upper case, which may have more bytes."""
    cdef int at = 0, made = 0, width = 1
    cdef uint32_t point
    while at < size:
        point = decode(out + at, &width)
        made += encode(raised(tables, point) if all_ or at == 0 else point, scratch + made)
        at += width
    for at in range(made):
        out[at] = scratch[at]
    return made


cdef class Core:
    cdef Model model
    cdef dict arrays
    cdef readonly object metadata

"""Multiword tokens: which script a token has, and the words that the script makes of it."""

from libc.stdint cimport int32_t, uint32_t, uint64_t, uint8_t

from covington.characters.tables cimport LOWER, UPPER, Tables, decode, encode, lowered, raised
from covington.base.hashing cimport finish, mix
from covington.segmentation.core cimport (
    FORM_NEVER, FORM_UNKNOWN, MAX_AFFIX, TO_END, Model, Part, find,
)
from covington.segmentation.features cimport Features, Token, words_features
from covington.segmentation.linear cimport score

cdef enum:
    MAX_SPLIT = 64  # characters of a token that may stand for several words
    PREFIX = 601
    SUFFIX = 602
    FORM = 603
    MAX_WORD = 1024  # bytes of a word that a script makes


cdef struct Spelled:  # the characters of a token
    uint32_t points[MAX_SPLIT]
    int count
    bint all_upper
    bint first_upper


cdef inline bint spell(Tables* tables, const unsigned char* text, Token* token, Spelled* spelled) noexcept nogil:
    """The characters as they stand; False if there are too many."""
    cdef Py_ssize_t at = token.start
    cdef int width = 1, uppers = 0
    cdef uint32_t point
    cdef uint8_t class_
    if token.length > MAX_SPLIT or token.length < 2:
        return False
    spelled.count = 0
    spelled.all_upper = True
    while at < token.end:
        point = decode(text + at, &width)
        class_ = tables.classes[point]
        uppers += class_ == UPPER
        spelled.all_upper &= class_ != LOWER
        spelled.points[spelled.count] = point
        spelled.count += 1
        at += width
    spelled.all_upper &= uppers > 1
    spelled.first_upper = tables.classes[spelled.points[0]] == UPPER
    return True


cdef inline uint64_t nonzero(uint64_t key) noexcept nogil:
    return key if key else 1


cdef inline int32_t script_by_affix(Model* model, Spelled* spelled) noexcept nogil:
    """The script of the longest ending or beginning that training data had."""
    cdef uint64_t prefixes[MAX_AFFIX + 1]
    cdef uint64_t suffixes[MAX_AFFIX + 1]
    cdef int32_t script
    cdef int length, longest = MAX_AFFIX if spelled.count > MAX_AFFIX else spelled.count - 1
    prefixes[0], suffixes[0] = PREFIX, SUFFIX
    for length in range(longest):
        prefixes[length + 1] = mix(prefixes[length], lowered(&model.tables, spelled.points[length]))
        suffixes[length + 1] = mix(suffixes[length], lowered(&model.tables, spelled.points[spelled.count - 1 - length]))
    for length in range(longest, 0, -1):
        script = find(&model.affixes, nonzero(finish(suffixes[length])))
        if script == FORM_UNKNOWN:
            script = find(&model.affixes, nonzero(finish(prefixes[length])))
        if script != FORM_UNKNOWN:
            return script
    return FORM_NEVER


cdef inline int32_t known_script(Model* model, Token* token, Spelled* spelled, bint* in_context, bint* is_sure) noexcept nogil:
    """The script of a token if it has one at all, whether context decides, and whether there is nothing to decide."""
    cdef int32_t value = find(&model.forms, nonzero(finish(mix(FORM, token.hash))))
    in_context[0] = is_sure[0] = False
    if value == FORM_NEVER:
        return FORM_NEVER
    if value == FORM_UNKNOWN:
        return script_by_affix(model, spelled)
    in_context[0] = value & 1
    is_sure[0] = not value & 1
    return value >> 1


cdef inline int32_t script_of(
    Model* model, const unsigned char* text, Token* before, Token* token, Token* after, Spelled* spelled
) noexcept nogil:
    """The script by which a token becomes several words, or -1."""
    cdef Features features
    cdef bint in_context = False, is_sure = False
    cdef int32_t script
    if not spell(&model.tables, text, token, spelled):
        return FORM_NEVER
    script = known_script(model, token, spelled, &in_context, &is_sure)
    if script < 0:
        return FORM_NEVER
    if not is_sure:
        features.count = 0
        words_features(before, token, after, <uint64_t>script, in_context, &features)
        if score(&model.words, &features) <= 0:
            return FORM_NEVER
    return script


cdef inline int literal(
    Model* model, int32_t start, int32_t end, Spelled* spelled, bint first, unsigned char* word, int size
) noexcept nogil:
    """Copy a literal, in the case of the token; the new size, or -1 if it is too long."""
    cdef int32_t at = start
    cdef int width = 1
    cdef uint32_t point
    while at < end:
        if size > MAX_WORD - 4:
            return -1
        point = decode(model.literals + at, &width)
        if spelled.all_upper or (first and at == start and spelled.first_upper):
            point = raised(&model.tables, point)
        size += encode(point, word + size)
        at += width
    return size


cdef inline int make_word(Model* model, Part* part, bint is_first, Spelled* spelled, unsigned char* word) noexcept nogil:
    """The bytes of a word; -1 if the script does not fit the token."""
    cdef int32_t start = part.start if part.start >= 0 else spelled.count + part.start
    cdef int32_t end = part.end if part.end >= 0 else spelled.count + part.end
    cdef int size, i
    if part.end == TO_END:
        end = spelled.count
    if start < 0 or end > spelled.count or start > end:
        return -1
    size = literal(model, part.before, part.after, spelled, is_first, word, 0)
    if size < 0:
        return -1
    for i in range(start, end):
        if size > MAX_WORD - 4:
            return -1
        size += encode(
            lowered(&model.tables, spelled.points[i])
            if size and not spelled.all_upper and spelled.first_upper and i == 0
            else spelled.points[i],
            word + size,
        )
    size = literal(model, part.after, part.after_end, spelled, is_first and size == 0, word, size)
    return size if size > 0 else -1

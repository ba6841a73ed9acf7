"""The model of a segmenter as compiled code follows it: weights, thresholds and the scripts of multiword tokens."""

from libc.stdint cimport int16_t, int32_t, uint64_t

from covington.characters.tables cimport Tables
from covington.segmentation.linear cimport Linear

cdef enum:
    FORM_NEVER = -1  # a form that stands for one word
    FORM_UNKNOWN = -2
    TO_END = 32767  # the end of a slice that goes to the end of the token
    MAX_AFFIX = 6  # characters


cdef struct Lookup:  # an open-addressed table; the key 0 is an empty place
    const uint64_t* keys
    const int32_t* values
    uint64_t mask


cdef struct Part:  # one word: a slice of the token, counted in characters, between two literals
    int32_t start  # from the end if negative
    int32_t end
    int32_t before  # where the literals are; each ends where the next begins
    int32_t after
    int32_t after_end


cdef struct Model:
    Tables tables
    Linear splits
    Linear joins
    Linear ends
    Linear words
    int32_t end_threshold
    bint has_joins
    bint has_words
    Lookup forms  # of known tokens: twice the number of the script, plus 1 if context decides
    Lookup affixes  # to the number of a script
    const int32_t* script_starts
    const Part* parts
    const unsigned char* literals
    int scripts


cdef inline int32_t find(Lookup* lookup, uint64_t key) noexcept nogil:
    cdef uint64_t place = key & lookup.mask
    while lookup.keys[place]:
        if lookup.keys[place] == key:
            return lookup.values[place]
        place = (place + 1) & lookup.mask
    return FORM_UNKNOWN


cdef class Core:
    cdef Model model
    cdef dict arrays
    cdef readonly object metadata

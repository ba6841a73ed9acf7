"""Templates as the compiled core runs them: load some cells, then mix them into one 64-bit key per template."""

from libc.stdint cimport int32_t, uint8_t, uint64_t

from covington.state cimport Configuration

cdef enum:
    GROUPS = 7              # in the order of templates.GROUPS
    LEFT_WORD = 0
    LEFT_ARCS = 1
    RIGHT_WORD = 2
    RIGHT_ARCS = 3
    FIRST_OPEN = 4
    LAST_OPEN = 5
    PAIR = 6
    MOST_CELLS = 48         # different values that the templates of one group may ask for
    MOST_TEMPLATES = 96     # templates in one group
    MOST_PARTS = 8          # values in one template
    MOST_KEYS = GROUPS * MOST_TEMPLATES
    NUMBER_BITS = 0xFF      # of a key: which template it is of
    FARTHEST = 20           # longer distances are all one


cdef struct Group:
    int cells
    int32_t node[MOST_CELLS]
    int32_t source[MOST_CELLS]      # a word attribute (>= 0) or one of STATE_ATTRIBUTES (-1, -2, ...)
    int templates
    uint64_t seed[MOST_TEMPLATES]
    uint64_t number[MOST_TEMPLATES]     # of the template in the whole list, from 1
    int gate[MOST_TEMPLATES]            # the template of this group that must be known for this one to be, or -1
    int gates                           # how many are gates themselves; they come first
    uint8_t parts[MOST_TEMPLATES]
    uint8_t part[MOST_TEMPLATES][MOST_PARTS]


cdef class Program:
    cdef Group groups[GROUPS]
    cdef readonly int width             # values per word
    cdef readonly list attributes       # the word attributes, fused ones included
    cdef readonly list names
    cdef readonly dict gates            # template → the gate that it stands behind


cdef void load_cells(const Group *group, const Configuration *c, const uint64_t *values, int width,
                     uint64_t *cells) noexcept nogil
cdef int make_keys(const Group *group, const uint64_t *cells, uint64_t *keys) noexcept nogil

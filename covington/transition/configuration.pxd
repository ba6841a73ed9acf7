"""The parser's configuration ⟨λ1, λ2, B, A⟩ and its four transitions, as a C struct over one block of memory.

The focus words say all there is to say about the three lists: λ1 is `first`..i, λ2 is i+1..j-1 and B is j..n.
The arcs A are kept as a head and a label per word. Two extra places per array stand for the root (0) and for
"no such word" (n + 1, see `nobody`), so that features never need to ask whether a word exists.
"""

from libc.stdint cimport int32_t, int64_t, uint64_t

cdef enum Transition:   # in the order of names.TRANSITIONS
    SHIFT = 0
    NO_ARC = 1
    LEFT_ARC = 2
    RIGHT_ARC = 3

cdef enum:
    TRANSITION_COUNT = 4
    NUMBERED_FROM = 2    # labels, where features see them

cdef enum Removed:       # what an arc transition took away, for the error analysis
    NOTHING_REMOVED = 0
    OLD_HEAD = 1         # the dependent had another head
    CYCLE_ARC = 2        # the arc into the new head closed a cycle


# What features ask about the arcs of a word (templates.RELATIONS): numbers of 64 bits and nothing else.
cdef struct Relations:
    uint64_t label              # of the arc from its head: see `label_at`
    uint64_t left_valency
    uint64_t right_valency
    uint64_t left_labels        # order-free hash of the set of labels on that side
    uint64_t right_labels


cdef struct Configuration:
    int n                       # words
    int i                       # left focus word, first - 1 when λ1 is used up
    int j                       # right focus word, n + 1 when the buffer is empty
    int first                   # where λ1 starts: 1 (implicit root) or 0 (explicit root)
    int nothing                 # the head of a word that has none: 0 (implicit) or -1 (explicit)
    int nobody                  # n + 1, the word that is not there
    int capacity                # words the arrays have room for
    void *memory
    int32_t *head
    int32_t *left_nearest       # dependents; `nobody` where there is none
    int32_t *left_farthest
    int32_t *right_nearest
    int32_t *right_farthest
    int32_t *farther            # the next dependent on the same side of the same head, away from it
    int32_t *nearer
    Relations *relations
    # words between the focus words whose head is outside [i, j], in order: CL is the first, CR the last
    int32_t *open_next
    int32_t *open_previous
    int open_first
    int open_last
    int64_t changes             # arcs added and taken away, from 1


cdef int reserve(Configuration *c, int n) except -1 nogil
cdef void release(Configuration *c) noexcept nogil
cdef void start(Configuration *c, int n, bint explicit_root) noexcept nogil
cdef void attach(Configuration *c, int dependent, int head, int label) noexcept nogil
cdef void detach(Configuration *c, int dependent) noexcept nogil
cdef void find_open_words(Configuration *c) noexcept nogil
cdef void shift(Configuration *c) noexcept nogil
cdef void no_arc(Configuration *c) noexcept nogil
cdef int left_arc(Configuration *c, int label) noexcept nogil
cdef int right_arc(Configuration *c, int label) noexcept nogil


cdef inline int label_at(const Configuration *c, int word) noexcept nogil:
    """The label of the arc into a word, -1 for none."""
    return <int>c.relations[word].label - NUMBERED_FROM


cdef inline void set_label(Configuration *c, int word, int label) noexcept nogil:
    c.relations[word].label = <uint64_t>(label + NUMBERED_FROM)


cdef inline bint is_ancestor(const int32_t *head, int ancestor, int word) noexcept nogil:
    """Is there a (possibly empty) path ancestor →* word? The arcs have no cycles, so the climb ends."""
    while word > 0:
        if word == ancestor:
            return True
        word = head[word]
    return word == ancestor and word == 0


cdef inline bint is_repair(const Configuration *c, int transition) noexcept nogil:
    """Would LeftArc or RightArc take another arc away? The monotonic system forbids it."""
    cdef int dependent = c.i, head = c.j
    if transition == RIGHT_ARC:
        dependent, head = head, dependent
    return c.head[dependent] != c.nothing or is_ancestor(c.head, dependent, head)

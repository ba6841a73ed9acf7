"""The transitions of the two figures of the paper, and dependents that stay right when arcs go away."""

from libc.stdint cimport int32_t, uint64_t
from libc.stdlib cimport free, malloc

from covington.base.hashing cimport SEED, finish, mix

from covington.base.agreement import require_same_order
from covington.transition.names import TRANSITIONS

cdef enum:
    INT_ARRAYS = 9

require_same_order(
    "the transitions", TRANSITIONS, {"Shift": SHIFT, "NoArc": NO_ARC, "LeftArc": LEFT_ARC, "RightArc": RIGHT_ARC}
)


cdef int reserve(Configuration *c, int n) except -1 nogil:
    """Make room for n words; nothing is allocated again for a shorter sentence."""
    cdef size_t places
    cdef int32_t *numbers
    if c.memory != NULL and n <= c.capacity:
        return 0
    release(c)
    places = <size_t>n + <size_t>n // 2 + 66
    c.memory = malloc(places * (INT_ARRAYS * sizeof(int32_t) + sizeof(Relations)))
    if c.memory == NULL:
        with gil:
            raise MemoryError("no memory for a configuration")
    c.capacity = <int>(places - 2)
    c.relations = <Relations *>c.memory
    numbers = <int32_t *>(c.relations + places)
    c.head = numbers
    c.left_nearest = numbers + places
    c.left_farthest = numbers + 2 * places
    c.right_nearest = numbers + 3 * places
    c.right_farthest = numbers + 4 * places
    c.farther = numbers + 5 * places
    c.nearer = numbers + 6 * places
    c.open_next = numbers + 7 * places
    c.open_previous = numbers + 8 * places
    return 0


cdef void release(Configuration *c) noexcept nogil:
    free(c.memory)
    c.memory = NULL
    c.capacity = 0


cdef void start(Configuration *c, int n, bint explicit_root) noexcept nogil:
    """The initial configuration: λ1 and λ2 empty (but for an explicit root), all words in the buffer, no arcs."""
    cdef int word
    c.n = n
    c.nobody = n + 1
    c.first = 0 if explicit_root else 1
    c.nothing = -1 if explicit_root else 0
    c.i = 0
    c.j = 1
    for word in range(n + 2):
        c.head[word] = c.nothing
        c.left_nearest[word] = c.left_farthest[word] = c.nobody
        c.right_nearest[word] = c.right_farthest[word] = c.nobody
        c.relations[word] = Relations(0, 0, 0, 0, 0)
        set_label(c, word, -1)
    # the head of the root and of nobody is nobody, so that grandparents can be looked up blindly
    c.head[0] = c.head[c.nobody] = c.nobody
    c.open_first = c.open_last = c.nobody
    c.changes = 1


cdef inline uint64_t label_hash(int label) noexcept nogil:
    return finish(mix(SEED, <uint64_t>(label + NUMBERED_FROM)))


cdef inline bint has_label(Configuration *c, int dependent, int label) noexcept nogil:
    """Does any word from `dependent` outwards carry the label?"""
    while dependent != c.nobody:
        if label_at(c, dependent) == label:
            return True
        dependent = c.farther[dependent]
    return False


cdef void attach(Configuration *c, int dependent, int head, int label) noexcept nogil:
    """Add head → dependent; the dependent must have no head."""
    cdef int outer = c.nobody, inner
    c.changes += 1
    c.head[dependent] = head
    set_label(c, dependent, label)
    if head == c.nothing:
        return
    if dependent < head:
        if not has_label(c, c.left_nearest[head], label):
            c.relations[head].left_labels += label_hash(label)
        # Covington builds from the inside out, so the new dependent nearly always goes to the far end
        inner = c.left_farthest[head]
        while inner != c.nobody and inner < dependent:
            outer = inner
            inner = c.nearer[inner]
        if inner == c.nobody:
            c.left_nearest[head] = dependent
        if outer == c.nobody:
            c.left_farthest[head] = dependent
        c.relations[head].left_valency += 1
    else:
        if not has_label(c, c.right_nearest[head], label):
            c.relations[head].right_labels += label_hash(label)
        inner = c.right_farthest[head]
        while inner != c.nobody and inner > dependent:
            outer = inner
            inner = c.nearer[inner]
        if inner == c.nobody:
            c.right_nearest[head] = dependent
        if outer == c.nobody:
            c.right_farthest[head] = dependent
        c.relations[head].right_valency += 1
    c.nearer[dependent] = inner
    c.farther[dependent] = outer
    if inner != c.nobody:
        c.farther[inner] = dependent
    if outer != c.nobody:
        c.nearer[outer] = dependent


cdef void detach(Configuration *c, int dependent) noexcept nogil:
    """Remove the arc into a word; the word is left with nothing for a head."""
    cdef int head = c.head[dependent], label = label_at(c, dependent)
    cdef int inner, outer
    if head == c.nothing:
        return
    c.changes += 1
    c.head[dependent] = c.nothing
    set_label(c, dependent, -1)
    inner = c.nearer[dependent]
    outer = c.farther[dependent]
    if inner != c.nobody:
        c.farther[inner] = outer
    if outer != c.nobody:
        c.nearer[outer] = inner
    if dependent < head:
        if inner == c.nobody:
            c.left_nearest[head] = outer
        if outer == c.nobody:
            c.left_farthest[head] = inner
        c.relations[head].left_valency -= 1
        if not has_label(c, c.left_nearest[head], label):
            c.relations[head].left_labels -= label_hash(label)
    else:
        if inner == c.nobody:
            c.right_nearest[head] = outer
        if outer == c.nobody:
            c.right_farthest[head] = inner
        c.relations[head].right_valency -= 1
        if not has_label(c, c.right_nearest[head], label):
            c.relations[head].right_labels -= label_hash(label)


cdef void find_open_words(Configuration *c) noexcept nogil:
    """List the open words from scratch, for a configuration that was not reached by transitions."""
    cdef int word
    c.open_first = c.open_last = c.nobody
    for word in range(max(c.i, 0) + 1, c.j):
        if c.head[word] < c.i or c.head[word] > c.j:
            c.open_previous[word] = c.open_last
            c.open_next[word] = c.nobody
            if c.open_last == c.nobody:
                c.open_first = word
            else:
                c.open_next[c.open_last] = word
            c.open_last = word


cdef void shift(Configuration *c) noexcept nogil:
    """Shift.

    Validity: always.
    Action: ⟨λ1, λ2, j|B, A⟩ ⇒ ⟨λ1·λ2|j, [], B, A⟩.
    """
    c.i = c.j
    c.j += 1
    c.open_first = c.open_last = c.nobody


cdef void no_arc(Configuration *c) noexcept nogil:
    """NoArc.

    Validity: λ1 is not empty.
    Action: ⟨λ1|i, λ2, B, A⟩ ⇒ ⟨λ1, i|λ2, B, A⟩.
    """
    cdef int passed = c.i, left = c.i - 1
    cdef int head = c.head[passed]
    cdef int word, before, after
    c.i = left
    if left < c.first:
        return
    # the interval has grown by its new left end: words that hang from it are no longer open
    if left >= 1 or c.first == 0:
        word = c.right_nearest[left]
        while word < c.j:
            if word != passed:
                before = c.open_previous[word]
                after = c.open_next[word]
                if before == c.nobody:
                    c.open_first = after
                else:
                    c.open_next[before] = after
                if after == c.nobody:
                    c.open_last = before
                else:
                    c.open_previous[after] = before
            word = c.farther[word]
    if head < left or head > c.j:
        c.open_next[passed] = c.open_first
        c.open_previous[passed] = c.nobody
        if c.open_first == c.nobody:
            c.open_last = passed
        else:
            c.open_previous[c.open_first] = passed
        c.open_first = passed


cdef int left_arc(Configuration *c, int label) noexcept nogil:
    """LeftArc, j → i.

    Validity: λ1 is not empty and i is not the root; monotonic: i has no head and no path i →* j.
    Action: adds j → i; removes the old head of i, and k → j if i →* k (it would close a cycle); then as NoArc.
    """
    cdef int removed = NOTHING_REMOVED
    if c.head[c.j] != c.nothing and is_ancestor(c.head, c.i, c.j):
        detach(c, c.j)
        removed |= CYCLE_ARC
    if c.head[c.i] != c.nothing:
        detach(c, c.i)
        removed |= OLD_HEAD
    attach(c, c.i, c.j, label)
    no_arc(c)
    return removed


cdef int right_arc(Configuration *c, int label) noexcept nogil:
    """RightArc, i → j.

    Validity: λ1 is not empty; monotonic: j has no head and no path j →* i.
    Action: adds i → j; removes the old head of j, and k → i if j →* k (it would close a cycle); then as NoArc.
    """
    cdef int removed = NOTHING_REMOVED
    if c.i > 0 and c.head[c.i] != c.nothing and is_ancestor(c.head, c.j, c.i):
        detach(c, c.i)
        removed |= CYCLE_ARC
    if c.head[c.j] != c.nothing:
        detach(c, c.j)
        removed |= OLD_HEAD
    attach(c, c.j, c.i, label)
    no_arc(c)
    return removed

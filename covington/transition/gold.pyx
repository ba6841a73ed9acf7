"""Gold trees: room for one, and the index that makes costs cheap."""

from libc.stdint cimport int32_t
from libc.stdlib cimport calloc, free


cdef int reserve_gold(Gold *gold, int n) except -1 nogil:
    """Make room for a tree of n words; the struct starts as zeros."""
    cdef size_t places = <size_t>n + <size_t>n // 2 + 66
    gold.n = n
    if n <= gold.room:
        return 0
    release_gold(gold)
    gold.head = <int32_t *>calloc(5 * places, sizeof(int32_t))
    if gold.head == NULL:
        with gil:
            raise MemoryError("no memory for a gold tree")
    gold.n = n
    gold.room = <int>places - 2
    gold.label = gold.head + places
    gold.left_dependent = gold.head + 2 * places
    gold.next_left = gold.head + 3 * places
    gold.leftmost = gold.head + 4 * places
    return 0


cdef void release_gold(Gold *gold) noexcept nogil:
    free(gold.head)
    gold.head = NULL
    gold.room = 0


cdef void index_gold(Gold *gold, int first) noexcept nogil:
    """Chain the gold left dependents of each word and note how far left its gold arcs reach."""
    cdef int word, head
    gold.head[0] = -1
    for word in range(gold.n + 2):
        gold.left_dependent[word] = 0
        gold.leftmost[word] = word
    for word in range(1, gold.n + 1):
        head = gold.head[word]
        if head > word:
            gold.next_left[word] = gold.left_dependent[head]
            gold.left_dependent[head] = word
            if word < gold.leftmost[head]:
                gold.leftmost[head] = word
        elif head >= first and head < gold.leftmost[word]:
            gold.leftmost[word] = head

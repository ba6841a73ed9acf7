"""Counting elementary cycles with Johnson's algorithm, in a graph where a word has at most two heads.

All arcs are followed from a word to its heads: one in A, one in I. Turning every arc around does not change
which cycles there are, and leaves at most two ways to go on from a word.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset


cdef int reserve_scratch(Scratch *scratch, int n) except -1 nogil:
    cdef size_t places
    cdef int32_t *numbers
    cdef uint8_t *flags
    if scratch.memory != NULL and n <= scratch.capacity:
        return 0
    release_scratch(scratch)
    places = <size_t>n + <size_t>n // 2 + 66
    scratch.memory = malloc(places * (5 * sizeof(int32_t) + 5))
    if scratch.memory == NULL:
        with gil:
            raise MemoryError("no memory for the oracle")
    memset(scratch.memory, 0, places * (5 * sizeof(int32_t) + 5))
    scratch.capacity = <int>(places - 2)
    scratch.stamp = 0
    numbers = <int32_t *>scratch.memory
    scratch.head = numbers
    scratch.hope = numbers + places
    scratch.stack = numbers + 2 * places
    scratch.live = numbers + 3 * places
    scratch.mark = numbers + 4 * places
    flags = <uint8_t *>(numbers + 5 * places)
    scratch.edge = flags
    scratch.found = flags + places
    scratch.blocked = flags + 2 * places
    scratch.waiting = flags + 3 * places
    scratch.alive = flags + 4 * places
    return 0


cdef void release_scratch(Scratch *scratch) noexcept nogil:
    free(scratch.memory)
    scratch.memory = NULL
    scratch.capacity = 0


cdef bint reaches(const int32_t *head, const int32_t *gold, int i, int j, int word, int target,
                  Scratch *scratch) noexcept nogil:
    """Is there a path target →* word in A ∪ I? Found by climbing from the word over both of its heads."""
    cdef int depth = 0, above, side
    spare_stamps(scratch, 1)
    scratch.stamp += 1
    scratch.stack[0] = word
    scratch.mark[word] = scratch.stamp
    while depth >= 0:
        word = scratch.stack[depth]
        depth -= 1
        for side in range(2):
            above = head[word] if side == 0 else hoped_head(head, gold, word, i, j)
            if above < 1 or scratch.mark[above] == scratch.stamp:
                continue
            if above == target:
                return True
            scratch.mark[above] = scratch.stamp
            depth += 1
            scratch.stack[depth] = above
    return False


cdef int find_live(int n, const int32_t *head, Scratch *scratch) noexcept nogil:
    """List the words that are left when those without a live head are taken away, again and again."""
    cdef int live = n, word, kept, above, hope
    for word in range(1, n + 1):
        scratch.live[word - 1] = word
        scratch.alive[word] = 1
    while True:
        kept = 0
        for word in scratch.live[:live]:
            above = head[word]
            hope = scratch.hope[word]
            if (above > 0 and scratch.alive[above]) or (hope > 0 and scratch.alive[hope]):
                scratch.live[kept] = word
                kept += 1
            else:
                scratch.alive[word] = 0
        if kept == live:
            return live
        live = kept


cdef inline int end_of(const int32_t *head, const Scratch *scratch, int word, int edge) noexcept nogil:
    return head[word] if edge == 0 else scratch.hope[word]


cdef void unblock(int word, int live, const int32_t *head, Scratch *scratch, int top) noexcept nogil:
    """Free a word and, in turn, all that were waiting for it; the stack above `top` is the worklist."""
    cdef int bottom = top, other, edge
    scratch.blocked[word] = 0
    scratch.stack[top] = word
    top += 1
    while top > bottom:
        top -= 1
        word = scratch.stack[top]
        for other in scratch.live[:live]:
            for edge in range(2):
                if scratch.waiting[other] & (1 << edge) and end_of(head, scratch, other, edge) == word:
                    scratch.waiting[other] &= <uint8_t>(~(1 << edge))
                    if scratch.blocked[other]:
                        scratch.blocked[other] = 0
                        scratch.stack[top] = other
                        top += 1


cdef bint is_problematic(const int32_t *head, const int32_t *gold, const Scratch *scratch, int length) noexcept nogil:
    """Will breaking the cycle on the stack cost a gold arc?

    Covington's order builds the arc with the largest right end last, and of those the one with the smallest
    left end. When that arc x → y closes the cycle, the arc into x is what goes.
    """
    cdef int closing = 0, best_right = -1, best_left = 0, step, y, x, left, right
    for step in range(length):
        if scratch.edge[step] == 1:
            y = scratch.stack[step]
            x = scratch.hope[y]
            right = x if x > y else y
            left = x if x < y else y
            if right > best_right or (right == best_right and left < best_left):
                closing, best_right, best_left = step, right, left
    step = closing + 1 if closing + 1 < length else 0
    x = scratch.stack[step]
    return scratch.edge[step] == 1 or gold[x] == head[x]


cdef int64_t count_cycles(int n, const int32_t *head, const int32_t *gold, int i, int j, bint problematic,
                          int64_t limit, Scratch *scratch) noexcept nogil:
    """How many elementary cycles (or problematic ones) A ∪ I has; counting stops at the limit."""
    cdef int64_t cycles = 0
    cdef int word, start, depth, above, live, edge, index
    for word in range(1, n + 1):
        scratch.hope[word] = hoped_head(head, gold, word, i, j)
    live = find_live(n, head, scratch)
    for index in range(live):
        start = scratch.live[index]
        for word in scratch.live[:live]:
            scratch.blocked[word] = 0
            scratch.waiting[word] = 0
        depth = 0
        scratch.stack[0] = start
        scratch.edge[0] = 0
        scratch.found[0] = 0
        scratch.blocked[start] = 1
        while depth >= 0:
            word = scratch.stack[depth]
            edge = scratch.edge[depth]
            if edge < 2:
                above = end_of(head, scratch, word, edge)
                # cycles are counted at their smallest word, so smaller ones are not entered
                if above < start or not scratch.alive[above]:
                    scratch.edge[depth] += 1
                elif above == start:
                    if not problematic or is_problematic(head, gold, scratch, depth + 1):
                        cycles += 1
                        if cycles >= limit:
                            return cycles
                    scratch.found[depth] = 1
                    scratch.edge[depth] += 1
                elif not scratch.blocked[above]:
                    depth += 1
                    scratch.stack[depth] = above
                    scratch.edge[depth] = 0
                    scratch.found[depth] = 0
                    scratch.blocked[above] = 1
                else:
                    scratch.edge[depth] += 1
                continue
            if scratch.found[depth]:
                unblock(word, live, head, scratch, depth + 1)
            else:
                for edge in range(2):
                    above = end_of(head, scratch, word, edge)
                    if above >= start and scratch.alive[above]:
                        scratch.waiting[word] |= <uint8_t>(1 << edge)
            depth -= 1
            if depth >= 0:
                scratch.found[depth] |= scratch.found[depth + 1]
                scratch.edge[depth] += 1
    return cycles

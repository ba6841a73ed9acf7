"""The search for the exact loss of a non-monotonic configuration, with the paper's pruning.

A configuration's loss is at most k if some transition sequence ends with at most k wrong heads; k is tried from
the lower bound upwards. The search walks over the pairs of words in Covington's order, and cuts wherever
- a lower bound is above k: |U|, and one more if some cycle cannot but cost a gold arc (search_bounds),
- an upper bound is not above k: the loss of the sequence that builds the reachable gold arcs and nothing else
  (never more than the paper's |U| + n_pc, and always attained), or
- the same arcs at the same place have been looked at before.
Shift with words left in λ1 is NoArc over all of them, so it need not be tried on its own. Sequences that leave
that path at few places are tried first: most repairs take one arc.
"""

from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc

from covington.base.hashing cimport finish, mix
from covington.study.search_bounds cimport Search, Step, Visited, attained, lower_bound, order_events
from covington.transition.configuration cimport is_ancestor

cdef enum:
    EVERYWHERE = 1 << 30        # as many departures from the default path as one likes


cdef inline uint64_t key_of(int word, int head, uint64_t seed) noexcept nogil:
    return finish(mix(mix(seed, <uint64_t>word), <uint64_t>(head + 2)))


cdef int remember(Search *s, uint64_t first_key, uint64_t second_key) noexcept nogil:
    """1 if these arcs at this place were met before, 0 if not (now they are), -1 when there is no memory."""
    cdef uint64_t place, index
    cdef Visited *old = s.table
    cdef uint64_t old_size = s.table_size
    if 2 * (s.visited + 1) > s.table_size:
        s.table_size = 1024 if old_size == 0 else 4 * old_size
        s.table = <Visited *>calloc(s.table_size, sizeof(Visited))
        if s.table == NULL:
            s.table = old
            s.table_size = old_size
            return -1
        for index in range(old_size):
            if old[index].round == s.round:
                place = old[index].first_key & (s.table_size - 1)
                while s.table[place].round == s.round:
                    place = (place + 1) & (s.table_size - 1)
                s.table[place] = old[index]
        free(old)
    place = first_key & (s.table_size - 1)
    while s.table[place].round == s.round:
        if s.table[place].first_key == first_key and s.table[place].second_key == second_key:
            return 1
        place = (place + 1) & (s.table_size - 1)
    s.table[place].first_key = first_key
    s.table[place].second_key = second_key
    s.table[place].round = s.round
    s.visited += 1
    return 0


cdef inline void set_head(Search *s, int word, int head) noexcept nogil:
    s.first_key ^= key_of(word, s.head[word], 1) ^ key_of(word, head, 1)
    s.second_key ^= key_of(word, s.head[word], 2) ^ key_of(word, head, 2)
    s.head[word] = head


cdef inline void build(Search *s, Step *step, int head, int word) noexcept nogil:
    """head → word, non-monotonically, with what it takes to undo it."""
    step.word, step.old_head, step.freed = word, s.head[word], 0
    if head > 0 and is_ancestor(s.head, word, head):
        step.freed, step.freed_head = head, s.head[head]
        set_head(s, head, s.nothing)
    set_head(s, word, head)


cdef inline void undo(Search *s, Step *step) noexcept nogil:
    if step.word:
        set_head(s, step.word, step.old_head)
        if step.freed:
            set_head(s, step.freed, step.freed_head)
    step.word = 0


cdef int examine(Search *s, Step *step, int k) noexcept nogil:
    """Whether a configuration's loss is at most k, as far as bounds and memory can tell."""
    cdef int known, lower
    cdef bint certain = False
    if step.i < s.first and step.j <= s.n:          # only Shift is left
        step.i, step.j = step.j, step.j + 1
    lower = lower_bound(s, step.i, step.j)
    if lower > k:
        return FAILED
    if step.j > s.n or attained(s, step.i, step.j, &certain) <= k:
        return FOUND
    if lower + certain > k:
        return FAILED
    if step.departures == 0:
        return FAILED                               # the default path is all that is left, and it costs too much
    if step.departures == EVERYWHERE:
        known = remember(s, mix(s.first_key, <uint64_t>step.i << 32 | <uint64_t>step.j),
                         mix(s.second_key, <uint64_t>step.i << 32 | <uint64_t>step.j))
        if known:
            return FAILED if known > 0 else NO_MEMORY
    s.nodes += 1
    return UNDECIDED if s.nodes <= s.node_limit else OUT_OF_NODES


cdef int within(Search *s, int i, int j, int k, int departures) noexcept nogil:
    """FOUND if some sequence that leaves the default path at most so often has at most k wrong heads in the end."""
    cdef int depth = 0, verdict, move, gold_word
    cdef bint departs
    cdef Step *step
    cdef Step *child
    cdef Step *larger
    s.round += 1
    s.visited = 0
    if s.steps == NULL:
        s.steps = <Step *>malloc(64 * sizeof(Step))
        if s.steps == NULL:
            return NO_MEMORY
        s.room = 64
    s.steps[0].i, s.steps[0].j, s.steps[0].move, s.steps[0].word = i, j, 0, 0
    s.steps[0].departures = departures
    verdict = examine(s, &s.steps[0], k)
    if verdict != UNDECIDED:
        return verdict
    while depth >= 0:
        step = &s.steps[depth]
        undo(s, step)
        i, j, move = step.i, step.j, step.move
        step.move += 1
        if move > 3:
            depth -= 1
            continue
        # 0 is the default: the gold arc between the focus words if there is one, else NoArc
        gold_word = i if i > 0 and s.gold[i] == j else j if s.gold[j] == i else 0
        departs = move > 0
        if departs and step.departures == 0:
            step.move = 4
            continue
        if move == 0 and gold_word:
            build(s, step, s.gold[gold_word], gold_word)
        elif move == 1:
            if i < 1 or gold_word == i:
                continue
            build(s, step, j, i)
        elif move == 2:
            if gold_word == j:
                continue
            build(s, step, i, j)
        elif move == 3 and not gold_word:
            continue
        if depth + 1 == s.room:
            larger = <Step *>realloc(s.steps, 2 * s.room * sizeof(Step))
            if larger == NULL:
                verdict = NO_MEMORY
                break
            s.steps = larger
            s.room *= 2
            step = &s.steps[depth]
        child = &s.steps[depth + 1]
        child.i, child.j, child.move, child.word = i - 1, j, 0, 0
        child.departures = step.departures
        if departs and step.departures != EVERYWHERE:
            child.departures -= 1
        verdict = examine(s, child, k)
        if verdict == UNDECIDED:
            depth += 1
        elif verdict != FAILED:
            break
    # leave the arcs as they were found
    while depth >= 0:
        undo(s, &s.steps[depth])
        depth -= 1
    return FAILED if verdict == UNDECIDED else verdict


cdef int search_loss(Search *s, int i, int j, int64_t node_limit, int *loss) noexcept nogil:
    """Set the loss and return FOUND, or OUT_OF_NODES or NO_MEMORY; s.lowest and s.highest enclose the loss."""
    cdef int departures, verdict = FAILED, word
    cdef bint certain = False
    s.nodes = 0
    s.node_limit = node_limit
    s.first_key = s.second_key = 0
    for word in range(1, s.n + 1):
        s.first_key ^= key_of(word, s.head[word], 1)
        s.second_key ^= key_of(word, s.head[word], 2)
    order_events(s)
    s.highest = attained(s, i, j, &certain)
    s.lowest = lower_bound(s, i, j) + certain
    while s.lowest < s.highest:
        for departures in range(1, 4):          # one, two, any number
            verdict = within(s, i, j, s.lowest, departures if departures < 3 else EVERYWHERE)
            if verdict != FAILED:
                break
        if verdict == FOUND:
            s.highest = s.lowest
        elif verdict == FAILED:
            s.lowest += 1
        else:
            return verdict
    loss[0] = s.lowest
    return FOUND

"""What the search knows about a configuration without searching: a lower bound, and a loss that is attained."""

from libc.stdint cimport int32_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from covington.transition.cycles cimport is_lost
from covington.transition.configuration cimport is_ancestor


cdef int prepare(Search *s, int n) noexcept nogil:
    """Room for n words; -1 when there is no memory."""
    cdef size_t places = <size_t>n + 2
    if n <= s.capacity and s.memory != NULL:
        return 0
    free(s.memory)
    s.capacity = 0
    s.memory = <int32_t *>calloc(6 * places, sizeof(int32_t))
    if s.memory == NULL:
        return -1
    s.capacity = n
    s.head = s.memory
    s.gold = s.memory + places
    s.trial = s.memory + 2 * places
    s.event_left = s.memory + 3 * places
    s.event_right = s.memory + 4 * places
    s.event_word = s.memory + 5 * places
    return 0


cdef void dispose(Search *s) noexcept nogil:
    free(s.memory)
    free(s.steps)
    free(s.table)
    memset(s, 0, sizeof(Search))


cdef void order_events(Search *s) noexcept nogil:
    """List the gold arcs in the order in which the parser meets their two words."""
    cdef int word, left, right, place, count = 0
    for word in range(1, s.n + 1):
        if s.gold[word] < s.first:
            continue                # implicit root: no transition builds this arc
        left = min(word, <int>s.gold[word])
        right = max(word, <int>s.gold[word])
        place = count
        while place > 0 and (s.event_right[place - 1] > right
                             or (s.event_right[place - 1] == right and s.event_left[place - 1] < left)):
            s.event_left[place] = s.event_left[place - 1]
            s.event_right[place] = s.event_right[place - 1]
            s.event_word[place] = s.event_word[place - 1]
            place -= 1
        s.event_left[place] = left
        s.event_right[place] = right
        s.event_word[place] = word
        count += 1
    s.events = count


cdef int lower_bound(const Search *s, int i, int j) noexcept nogil:
    """|U|; with an implicit root without the root arcs that may come back when their word loses its head."""
    cdef int word, head, lost = 0
    for word in range(1, s.n + 1):
        head = s.gold[word]
        if s.head[word] == head:
            continue
        if head < s.first:
            # 0 → word comes back if an arc from word closes a cycle, which takes a pair that is still to come
            if not (j < s.n or (j == s.n and (word <= i or (word == j and i >= 1)))):
                lost += 1
        elif is_lost(head, word, i, j):
            lost += 1
    return lost


cdef inline bint still_met(const Search *s, int word, int i, int j, int left, int right) noexcept nogil:
    """Does the parser, now at (i, j), look at some pair with this word, at most j, before it gets to (left, right)?"""
    if right > j + 1:
        return True
    if right == j + 1:
        return word <= i or word > left or (word == j and i >= s.first)
    return (left < word and word <= i) or (word == j and i > left)


cdef bint cannot_be_avoided(const Search *s, int word, int head, int i, int j) noexcept nogil:
    """Must the cycle that head → word closes in s.trial cost a gold arc, whatever is done before?

    To save them all, a wrong arc of the cycle has to go before its time. That takes a pair with its dependent,
    for a new head or for an arc from it that closes another cycle. And when j has its gold head and `word` is
    above it, every arc to j and every arc from j to a word above it costs j's gold arc at once.
    """
    cdef int left = word if word < head else head
    cdef int right = word if word > head else head
    cdef int above = head
    if head == j and s.head[j] == s.gold[j] and is_ancestor(s.head, word, j):
        return True
    while above != word:
        if s.trial[above] != s.gold[above] and still_met(s, above, i, j, left, right):
            return False
        above = s.trial[above]
    return True


cdef int attained(Search *s, int i, int j, bint *certain) noexcept nogil:
    """The loss of the sequence that builds the reachable gold arcs and no other; is one more than |U| certain?"""
    cdef int event, word, head, loss = 0
    certain[0] = False
    memcpy(s.trial, s.head, (s.n + 1) * sizeof(int32_t))
    for event in range(s.events):
        if s.event_right[event] < j or (s.event_right[event] == j and s.event_left[event] > i):
            continue
        word = s.event_word[event]
        head = s.gold[word]
        if s.trial[word] == head:
            continue
        if head > 0 and is_ancestor(s.trial, word, head):
            if s.trial[head] == s.gold[head] and not certain[0]:
                certain[0] = cannot_be_avoided(s, word, head, i, j)
            s.trial[head] = s.nothing
        s.trial[word] = head
    for word in range(1, s.n + 1):
        loss += s.trial[word] != s.gold[word]
    return loss

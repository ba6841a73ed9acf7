"""The exact loss of non-monotonic configurations: one at a time, or a whole study of bounds."""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from covington.transition.cycles cimport Scratch, count_cycles, is_lost, release_scratch, reserve_scratch
from covington.study.loss_search cimport FOUND, NO_MEMORY, search_loss
from covington.study.search_bounds cimport Search, dispose, prepare

NODE_LIMIT = 1_000_000

cdef enum:
    CYCLE_LIMIT = 1 << 30       # the most cycles an answer has room for


cdef class _Owner:
    """Frees a search when Python lets go of it."""
    cdef Search search

    def __dealloc__(self):
        dispose(&self.search)


def search(heads, gold, int i, int j, bint explicit_root, int64_t node_limit):
    """(lowest, highest, nodes) for a checked configuration; the loss is known where lowest == highest."""
    cdef _Owner owner = _Owner()
    cdef Search *s = &owner.search
    cdef int n = len(gold), word, loss = 0, verdict
    if prepare(s, n) < 0:
        raise MemoryError("no memory for the search")
    s.n = n
    s.first, s.nothing = (0, -1) if explicit_root else (1, 0)
    s.head[0] = -1
    for word in range(1, n + 1):
        s.head[word] = heads[word - 1]
        s.gold[word] = gold[word - 1]
    with nogil:
        verdict = search_loss(s, i, j, node_limit, &loss)
    if verdict == NO_MEMORY:
        raise MemoryError("no memory for the search")
    return s.lowest, s.highest, s.nodes


def study(const int32_t[::1] gold, const int64_t[::1] start, const int32_t[::1] sentence,
          const int32_t[::1] left, const int32_t[::1] right, const int32_t[::1] heads,
          const int64_t[::1] heads_start, bint explicit_root, int64_t node_limit,
          int32_t[:, ::1] result, int64_t[::1] nodes):
    """Bounds and loss of many configurations: rows of lower, lowest, highest, pc-upper, upper.

    gold[start[s]:start[s + 1]] are the heads of sentence s. Configuration c is of sentence[c], with the focus on
    left[c] and right[c] and the heads heads[heads_start[c]:heads_start[c + 1]].
    """
    cdef _Owner owner = _Owner()
    cdef Search *s = &owner.search
    cdef Scratch scratch
    cdef Py_ssize_t c
    cdef int n, word, loss, verdict = FOUND, lower
    cdef int64_t gold_from
    memset(&scratch, 0, sizeof(scratch))
    try:
        with nogil:
            for c in range(sentence.shape[0]):
                gold_from = start[sentence[c]]
                n = <int>(start[sentence[c] + 1] - gold_from)
                reserve_scratch(&scratch, n)
                if prepare(s, n) < 0:
                    verdict = NO_MEMORY
                    break
                s.n = n
                s.first, s.nothing = (0, -1) if explicit_root else (1, 0)
                s.head[0] = s.gold[0] = -1
                lower = 0
                for word in range(1, n + 1):
                    s.head[word] = heads[heads_start[c] + word - 1]
                    s.gold[word] = gold[gold_from + word - 1]
                    if s.head[word] != s.gold[word]:
                        lower += s.gold[word] < s.first or is_lost(s.gold[word], word, left[c], right[c])
                verdict = search_loss(s, left[c], right[c], node_limit, &loss)
                if verdict == NO_MEMORY:
                    break
                result[c, 0] = lower
                result[c, 1] = s.lowest
                result[c, 2] = s.highest
                result[c, 3] = lower + <int32_t>count_cycles(
                    n, s.head, s.gold, left[c], right[c], True, CYCLE_LIMIT, &scratch)
                result[c, 4] = lower + <int32_t>count_cycles(
                    n, s.head, s.gold, left[c], right[c], False, CYCLE_LIMIT, &scratch)
                nodes[c] = s.nodes
    finally:
        release_scratch(&scratch)
    if verdict == NO_MEMORY:
        raise MemoryError("no memory for the search")

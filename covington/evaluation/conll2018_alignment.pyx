"""Words of two segmentations of the same text that stand for each other, as the CoNLL 2018 shared task defines it."""

from libc.stdint cimport int32_t, int64_t, uint8_t

import numpy as np

cdef struct Words:
    const int64_t* starts  # characters without white space, from the start of the text
    const int64_t* ends
    const uint8_t* shared  # the token stands for several words
    const int32_t* forms  # numbers of forms in lower case
    Py_ssize_t count


cdef class Side:
    """The words of one side; a multiword token gives its place to all its words."""

    cdef Words words
    cdef object arrays

    def __cinit__(self, starts, ends, shared, forms):
        cdef const int64_t[::1] start_view = starts, end_view = ends
        cdef const uint8_t[::1] shared_view = shared
        cdef const int32_t[::1] form_view = forms
        if not len(starts) == len(ends) == len(shared) == len(forms):
            raise ValueError("there are not as many starts, ends, marks and forms")
        self.arrays = starts, ends, shared, forms
        self.words.count = len(starts)
        if self.words.count:
            self.words.starts, self.words.ends = &start_view[0], &end_view[0]
            self.words.shared, self.words.forms = &shared_view[0], &form_view[0]


cdef inline bint is_past(Words* words, Py_ssize_t place, int64_t end) noexcept nogil:
    """Whether a word lies beyond the stretch that ends there."""
    if place >= words.count:
        return True
    return words.starts[place] >= end if words.shared[place] else words.ends[place] > end


cdef inline int64_t stretched(Words* words, Py_ssize_t place, int64_t end) noexcept nogil:
    return words.ends[place] if words.shared[place] and words.ends[place] > end else end


def align(Side gold not None, Side system not None):
    """The numbers of the gold words and of the system words that stand for each other, in order.

    Outside of multiword tokens these are words at the same place. A stretch in which multiword tokens of either side
    touch is aligned by forms: the longest common subsequence.
    """
    cdef Words* g = &gold.words
    cdef Words* s = &system.words
    cdef Py_ssize_t i = 0, j = 0, first_i, first_j, count = 0
    cdef int64_t end
    pairs = np.zeros((min(g.count, s.count), 2), np.int64)
    cdef int64_t[:, ::1] view = pairs
    while i < g.count and j < s.count:
        if not (g.shared[i] or s.shared[j]):
            if g.starts[i] == s.starts[j] and g.ends[i] == s.ends[j]:
                view[count, 0], view[count, 1] = i, j
                count += 1
                i += 1
                j += 1
            elif g.starts[i] <= s.starts[j]:
                i += 1
            else:
                j += 1
            continue
        if g.shared[i]:
            end = g.ends[i]
            if not s.shared[j] and s.starts[j] < g.starts[i]:
                j += 1  # it began before the multiword token did
        else:
            end = s.ends[j]
            if g.starts[i] < s.starts[j]:
                i += 1
        first_i, first_j = i, j
        while not (is_past(g, i, end) and is_past(s, j, end)):
            if i < g.count and (j >= s.count or g.starts[i] <= s.starts[j]):
                end = stretched(g, i, end)
                i += 1
            else:
                end = stretched(s, j, end)
                j += 1
        if i > first_i and j > first_j:
            count = align_forms(g, s, first_i, i, first_j, j, pairs, count)
    return pairs[:count]


cdef Py_ssize_t align_forms(
    Words* g, Words* s, Py_ssize_t first_i, Py_ssize_t last_i, Py_ssize_t first_j, Py_ssize_t last_j, pairs,
    Py_ssize_t count,
):
    """The words of a stretch that are on a longest common subsequence of forms."""
    cdef Py_ssize_t height = last_i - first_i, width = last_j - first_j, i, j
    lengths = np.zeros((height + 1, width + 1), np.int32)
    cdef int32_t[:, ::1] longest = lengths
    cdef int64_t[:, ::1] view = pairs
    for i in range(height - 1, -1, -1):
        for j in range(width - 1, -1, -1):
            if g.forms[first_i + i] == s.forms[first_j + j]:
                longest[i, j] = 1 + longest[i + 1, j + 1]
            else:
                longest[i, j] = max(longest[i + 1, j], longest[i, j + 1])
    i = j = 0
    while i < height and j < width:
        if g.forms[first_i + i] == s.forms[first_j + j]:
            view[count, 0], view[count, 1] = first_i + i, first_j + j
            count += 1
            i += 1
            j += 1
        elif longest[i, j] == longest[i + 1, j]:
            i += 1
        else:
            j += 1
    return count

"""Configurations met in training, as flat arrays: which sentence, which focus words, which heads."""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy

import numpy as np

from covington.errors import OptionError


cdef class Recorder:
    """Notes the configurations of the first `limit` transitions; a Learner that has one stops when it is full."""

    def __cinit__(self, int64_t limit):
        if not 1 <= limit <= 1 << 30:
            raise OptionError(f"{limit} transitions cannot be noted: at least 1, at most {1 << 30:,}")
        self.limit = limit
        self.places = <int32_t *>malloc(3 * limit * sizeof(int32_t))
        self.ends = <int64_t *>malloc(limit * sizeof(int64_t))
        if self.places == NULL or self.ends == NULL:
            raise MemoryError()

    def __dealloc__(self):
        free(self.places)
        free(self.ends)
        free(self.heads)

    cdef bint is_full(self) noexcept nogil:
        return self.count == self.limit

    cdef int note(self, const Configuration *c) except -1 nogil:
        """Write down a configuration, unless there are enough."""
        cdef int64_t end = self.ends[self.count - 1] if self.count else 0, room
        cdef int32_t *larger
        if self.count == self.limit:
            return 0
        if end + c.n > self.room:
            room = 2 * self.room + c.n + 4096
            larger = <int32_t *>realloc(self.heads, room * sizeof(int32_t))
            if larger == NULL:
                with gil:
                    raise MemoryError()
            self.heads = larger
            self.room = room
        memcpy(self.heads + end, c.head + 1, c.n * sizeof(int32_t))
        self.ends[self.count] = end + c.n
        self.places[3 * self.count] = <int32_t>self.sentence
        self.places[3 * self.count + 1] = c.i
        self.places[3 * self.count + 2] = c.j
        self.count += 1
        return 0

    def arrays(self):
        """(sentence, i, j, heads, start): configuration c has the heads heads[start[c]:start[c + 1]]."""
        if self.count == 0:
            none = np.zeros(0, np.int32)
            return none, none, none, none, np.zeros(1, np.int64)
        cdef int64_t end = self.ends[self.count - 1]
        places = np.array(<int32_t[:3 * self.count]>self.places).reshape(-1, 3)
        heads = np.array(<int32_t[:end]>self.heads) if end else np.zeros(0, np.int32)
        start = np.concatenate((np.zeros(1, np.int64), np.array(<int64_t[:self.count]>self.ends)))
        return *(np.ascontiguousarray(places[:, column]) for column in range(3)), heads, start

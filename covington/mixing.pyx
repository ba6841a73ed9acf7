"""Mixing what shards have learnt (McDonald, Hall & Mann 2010), in exact integer arithmetic.

A shard learns in a copy of the mixed weights, and only the rows that it changed come back. A weight becomes the mean of
what it is in all shards, uniform or by their updates; where a row did not change, it is what it was before.
"""

from libc.stdint cimport int32_t, int64_t, uint16_t, uint64_t
from libc.stdlib cimport calloc, free

from covington.weights cimport Slot, Weights

from covington.errors import ModelError


cdef class Changes:
    """What one shard has learnt: its steps, its updates and Weights.changes."""
    cdef readonly int classes
    cdef const uint64_t[::1] keys
    cdef const int64_t[::1] ends
    cdef const uint16_t[::1] numbers
    cdef const int32_t[::1] weights
    cdef const int64_t[::1] sums
    cdef readonly int64_t steps
    cdef readonly int64_t updates
    cdef int64_t times              # how much it counts for
    cdef int64_t row                # the next one that is to be mixed

    def __init__(self, int classes, int64_t steps, int64_t updates, dict arrays):
        self.classes, self.steps, self.updates = classes, steps, updates
        self.keys, self.ends, self.sums = arrays["keys"], arrays["ends"], arrays["sums"]
        self.numbers, self.weights = arrays["classes"], arrays["weights"]

    cdef inline bint has(self, uint64_t key) noexcept nogil:
        """Is this the key of the next row?"""
        return self.row < self.keys.shape[0] and self.keys[self.row] == key

    cdef inline int64_t start(self) noexcept nogil:
        """Where the next row begins; it ends at `ends`."""
        return self.ends[self.row - 1] if self.row > 0 else 0


def mix(Weights weights, list parts, str by):
    """Take the Changes of all shards of an epoch into the weights that they began with; `by` is uniform or updates.

    The average goes on over the steps of all shards. One shard alone gives what it would have given in this table.
    """
    cdef Changes part
    cdef int64_t divisor = 0
    cdef int64_t *means
    uniform = by == "uniform" or not any(part.updates for part in parts)
    for part in parts:
        if part.classes != weights.classes:
            raise ModelError(f"changes of {part.classes} classes do not fit weights of {weights.classes}")
    for part in parts:
        part.row = 0
        part.times = 1 if uniform else part.updates
        divisor += part.times
        weights.steps += part.steps
        weights.updates += part.updates
    means = <int64_t *>calloc(2 * weights.classes, sizeof(int64_t))
    if means == NULL:
        raise MemoryError()
    try:
        mix_rows(weights, parts, divisor, means, means + weights.classes)
    finally:
        free(means)


cdef int mix_rows(Weights weights, list parts, int64_t divisor, int64_t *means, int64_t *sums) except -1:
    """Row by row, in the order of the keys, which all parts are in."""
    cdef Changes part
    cdef uint64_t key
    while True:
        key = 0
        for part in parts:
            if part.row < part.keys.shape[0] and (key == 0 or part.keys[part.row] < key):
                key = part.keys[part.row]
        if key == 0:
            return 0
        mix_row(weights, parts, key, divisor, means, sums)


cdef int mix_row(Weights weights, list parts, uint64_t key, int64_t divisor, int64_t *means, int64_t *sums) except -1:
    """One row: for each class the mean of the weights and the sum of what they were, both less what is there now."""
    cdef Slot *slot = weights.make_row(key)
    cdef Changes part
    cdef int64_t at, times = 0, steps = 0, mean
    cdef int number
    for part in parts:
        if part.has(key):
            times += part.times
            steps += part.steps
            for at in range(part.start(), part.ends[part.row]):
                weights.make_entry(slot, part.numbers[at])
    for at in range(slot.start, <int64_t>slot.start + slot.size):
        number = weights.entries[at].number
        means[number] = -times * weights.entries[at].weight
        sums[number] = -steps * weights.entries[at].weight
    for part in parts:
        if part.has(key):
            for at in range(part.start(), part.ends[part.row]):
                means[part.numbers[at]] += part.times * part.weights[at]
                sums[part.numbers[at]] += part.sums[at]
            part.row += 1
    for at in range(slot.start, <int64_t>slot.start + slot.size):
        number = weights.entries[at].number
        mean = rounded(means[number], divisor)
        weights.entries[at].weight += <int32_t>mean
        weights.late[at] += weights.steps * mean - sums[number]
    return 0


cdef inline int64_t rounded(int64_t total, int64_t divisor) noexcept nogil:
    """A quotient; halves are rounded up."""
    cdef int64_t doubled = 2 * total + divisor
    return doubled // (2 * divisor) - (doubled % (2 * divisor) < 0)

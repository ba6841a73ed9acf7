"""Mixing what shards have learnt (McDonald, Hall & Mann 2010), in exact integer arithmetic.

A shard learns in a copy of the mixed weights, and only the weights that it changed come back. With `uniform` and
`updates` a weight becomes the mean of what it is in all shards; where it did not change, it is what it was before.
`double` goes twice as far from there.
"""

from libc.stdint cimport int32_t, int64_t, uint16_t, uint64_t
from libc.stdlib cimport calloc, free

from covington.kernels cimport prefetch
from covington.weights cimport Slot, Weights

from covington.errors import ModelError

cdef enum:
    AHEAD = 8       # rows: how early the memory behind them is called for


# The rows of a shard, and which one is next.
cdef struct Cursor:
    uint64_t key        # of the next row; 0 after the last
    const uint64_t *keys
    const int64_t *ends
    const uint16_t *numbers
    const int32_t *weights
    const int64_t *sums
    int64_t rows
    int64_t row
    int64_t steps
    int64_t times       # how much the shard counts for


cdef class Changes:
    """What one shard has learnt: its steps, its updates and Weights.changes."""
    cdef readonly str checksum      # of the file that they are from
    cdef readonly int classes
    cdef readonly int64_t steps
    cdef readonly int64_t updates
    cdef const uint64_t[::1] keys
    cdef const int64_t[::1] ends
    cdef const uint16_t[::1] numbers
    cdef const int32_t[::1] weights
    cdef const int64_t[::1] sums

    def __init__(self, int classes, int64_t steps, int64_t updates, dict arrays, str checksum=""):
        self.checksum = checksum
        self.classes, self.steps, self.updates = classes, steps, updates
        self.keys, self.ends, self.sums = arrays["keys"], arrays["ends"], arrays["sums"]
        self.numbers, self.weights = arrays["classes"], arrays["weights"]

    def __len__(self):
        return self.keys.shape[0]

    cdef Cursor begin(self, int64_t times):
        if self.keys.shape[0] == 0 or self.numbers.shape[0] == 0:
            return Cursor(0, NULL, NULL, NULL, NULL, NULL, 0, 0, self.steps, times)
        return Cursor(self.keys[0], &self.keys[0], &self.ends[0], &self.numbers[0], &self.weights[0], &self.sums[0],
                      self.keys.shape[0], 0, self.steps, times)


def mix(Weights weights, list parts, str by):
    """Take the Changes of all shards of an epoch into the weights that they began with; `by` is one of options.MIXING.

    The average goes on over the steps of all shards. One shard alone gives what it would have given in this table.
    """
    cdef Changes part
    cdef int64_t *means = NULL
    cdef Cursor *cursors = NULL
    cdef int64_t divisor = 0
    cdef int count = len(parts), k
    by_updates = by == "updates" and any(part.updates for part in parts)
    for part in parts:
        if part.classes != weights.classes:
            raise ModelError(f"changes of {part.classes} classes do not fit weights of {weights.classes}")
    try:
        cursors = <Cursor *>calloc(count + 1, sizeof(Cursor))
        means = <int64_t *>calloc(2 * weights.classes, sizeof(int64_t))
        if cursors == NULL or means == NULL:
            raise MemoryError()
        for k in range(count):
            part = parts[k]
            cursors[k] = part.begin(part.updates if by_updates else part.steps > 0)  # who has no sentences has no say
            divisor += cursors[k].times
            weights.steps += part.steps
            weights.updates += part.updates
        if by == "double" and divisor > 1:      # a shard that is alone is right as it is
            for k in range(count):
                cursors[k].times *= 2
        with nogil:
            reserve_rows(weights, cursors, cursors + count)
            mix_rows(weights, cursors, cursors + count, max(divisor, 1), means, means + weights.classes)
    finally:
        free(cursors)
        free(means)


cdef int reserve_rows(Weights weights, Cursor *first, Cursor *last) except -1 nogil:
    """Make room for the rows that the weights do not have yet."""
    cdef Cursor *part
    cdef int64_t more = 0
    cdef uint64_t key = next_key(first, last)
    while key != 0:
        more += weights.find(key).key == 0
        part = first
        while part < last:
            if part.key == key:
                go_to(part, part.row + 1)
            part += 1
        key = next_key(first, last)
    part = first
    while part < last:
        go_to(part, 0)
        part += 1
    return weights.reserve(more)


cdef int mix_rows(Weights weights, Cursor *first, Cursor *last, int64_t divisor, int64_t *means,
                  int64_t *sums) except -1 nogil:
    """Row by row, in the order of the keys, which all parts are in."""
    cdef uint64_t key = next_key(first, last)
    while key != 0:
        mix_row(weights, first, last, key, divisor, means, sums)
        key = next_key(first, last)
    return 0


cdef inline uint64_t next_key(const Cursor *first, const Cursor *last) noexcept nogil:
    """The lowest key of the next rows of all parts; 0 at their end."""
    cdef uint64_t lowest = <uint64_t>0 - 1     # less one, as what has none is then above all others
    while first < last:
        lowest = min(lowest, first.key - 1)
        first += 1
    return lowest + 1


cdef int mix_row(Weights weights, Cursor *first, Cursor *last, uint64_t key, int64_t divisor, int64_t *means,
                 int64_t *sums) except -1 nogil:
    """One row: by class, how far the mean of the weights and the sum of what they were are from what is there now.

    What a shard did not update is in it as it is here. The arrays are all zero, before and after.
    """
    cdef Slot *slot = weights.make_row(key)
    cdef Cursor *part
    cdef int64_t at, place
    cdef int number
    cdef bint alone                 # has one shard the row, and no other?
    while first.key != key:
        first += 1
    while (last - 1).key != key:
        last -= 1
    alone = first + 1 == last
    part = first
    while part < last:
        if part.key == key:
            for at in range(start_of(part), part.ends[part.row]):
                number = part.numbers[at]
                place = weights.make_entry(slot, number)
                means[number] += part.times * (part.weights[at] - <int64_t>weights.entries[place].weight)
                sums[number] += part.sums[at] - part.steps * weights.entries[place].weight
                if alone:
                    move(weights, place, &means[number], &sums[number], divisor)
        part += 1
    part = first
    while part < last:
        if part.key == key:
            if not alone:
                move_row(weights, slot, part, means, sums, divisor)
            go_to(part, part.row + 1)
            look_ahead(weights, part)
        part += 1
    return 0


cdef inline int move_row(Weights weights, Slot *slot, const Cursor *part, int64_t *means, int64_t *sums,
                         int64_t divisor) except -1 nogil:
    """Change the weights that a shard has updated, when all shards have been added up."""
    cdef int64_t at
    cdef int number
    for at in range(start_of(part), part.ends[part.row]):
        number = part.numbers[at]
        move(weights, weights.make_entry(slot, number), &means[number], &sums[number], divisor)
    return 0


cdef inline void move(Weights weights, int64_t place, int64_t *total, int64_t *sum, int64_t divisor) noexcept nogil:
    """Change a weight by the mean of what shards have changed; nothing is left for the next part that has it."""
    cdef int64_t mean = rounded(total[0], divisor)
    weights.entries[place].weight += <int32_t>mean
    weights.late[place] += weights.steps * mean - sum[0]
    total[0] = sum[0] = 0


cdef inline void go_to(Cursor *part, int64_t row) noexcept nogil:
    part.row = row
    part.key = part.keys[row] if row < part.rows else 0


cdef inline int64_t start_of(const Cursor *part) noexcept nogil:
    """Where the next row begins; it ends at `ends`."""
    return part.ends[part.row - 1] if part.row > 0 else 0


cdef inline void look_ahead(Weights weights, const Cursor *part) noexcept nogil:
    """Begin to fetch what will be needed some rows later."""
    cdef const Slot *slot
    if part.row + 2 * AHEAD < part.rows:
        prefetch(weights.home(part.keys[part.row + 2 * AHEAD]))
        slot = weights.find(part.keys[part.row + AHEAD])
        prefetch(weights.entries + slot.start)
        prefetch(weights.late + slot.start)


cdef inline int64_t rounded(int64_t total, int64_t divisor) noexcept nogil:
    """A quotient; halves are rounded up."""
    cdef int64_t doubled = 2 * total + divisor
    return doubled // (2 * divisor) - (doubled % (2 * divisor) < 0)

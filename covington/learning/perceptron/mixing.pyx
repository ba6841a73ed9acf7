"""Mixing what shards have learnt (McDonald, Hall & Mann 2010), in exact integer arithmetic.

A shard learns in a copy of the mixed weights, and only the weights that it changed come back. With `uniform` and
`updates` a weight becomes the mean of what it is in all shards; where it did not change, it is what it was before.

That mean makes what one shard alone has learnt K times smaller, and the next epoch learns it again. The mean over those
shards only that changed a weight loses nothing, and learns by heart what one shard has met. `geometric` goes between: a
weight moves by twice the geometric mean of these two, and never by more than the sum of what shards changed.
"""

from libc.stdint cimport int32_t, int64_t, uint16_t, uint64_t
from libc.stdlib cimport calloc, free, malloc

from covington.scorers.kernels cimport prefetch
from covington.learning.perceptron.weights cimport Slot, Weights

from covington.errors import ModelError

from math import isqrt

cdef enum:
    AHEAD = 8       # rows: how early the memory behind them is called for
    WHOLE = 65536   # a factor of one


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


# What all shards together have done to one weight.
cdef struct Total:
    int64_t change
    int64_t sum         # how far the sum of what it was is from what it would have been
    int64_t shards      # that changed it


# By how much a weight moves: its change times the factor for so many shards, divided.
cdef struct Rule:
    const int64_t *factors
    int64_t divisor


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
    cdef Total *totals = NULL
    cdef int64_t *factors = NULL
    cdef Cursor *cursors = NULL
    cdef int64_t times = 0
    cdef int count = len(parts), learnt = 0, k
    by_updates = by == "updates" and any(part.updates for part in parts)
    for part in parts:
        if part.classes != weights.classes:
            raise ModelError(f"changes of {part.classes} classes do not fit weights of {weights.classes}")
    try:
        cursors = <Cursor *>calloc(count + 1, sizeof(Cursor))
        factors = <int64_t *>malloc((count + 1) * sizeof(int64_t))
        totals = <Total *>calloc(weights.classes, sizeof(Total))
        if cursors == NULL or factors == NULL or totals == NULL:
            raise MemoryError()
        for k in range(count):
            part = parts[k]
            cursors[k] = part.begin(part.updates if by_updates else part.steps > 0)  # who has no sentences has no say
            times += cursors[k].times
            learnt += part.steps > 0
            weights.steps += part.steps
            weights.updates += part.updates
        for k in range(count + 1):
            factors[k] = geometric_factor(k, learnt) if by == "geometric" else 1
        rule = Rule(factors, WHOLE if by == "geometric" else max(times, 1))
        with nogil:
            reserve_rows(weights, cursors, cursors + count)
            mix_rows(weights, cursors, cursors + count, totals, &rule)
    finally:
        free(cursors)
        free(factors)
        free(totals)


def geometric_factor(int64_t changed, int64_t shards):
    """What a sum of changes is multiplied by, in units of 1 / WHOLE: 2 / √(changed · shards), and at most 1."""
    return min(isqrt((<int64_t>4 * WHOLE * WHOLE) // max(changed * shards, 1)), WHOLE)


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


cdef int mix_rows(Weights weights, Cursor *first, Cursor *last, Total *totals, const Rule *rule) except -1 nogil:
    """Row by row, in the order of the keys, which all parts are in."""
    cdef uint64_t key = next_key(first, last)
    while key != 0:
        mix_row(weights, first, last, key, totals, rule)
        key = next_key(first, last)
    return 0


cdef inline uint64_t next_key(const Cursor *first, const Cursor *last) noexcept nogil:
    """The lowest key of the next rows of all parts; 0 at their end."""
    cdef uint64_t lowest = <uint64_t>0 - 1     # less one, as what has none is then above all others
    while first < last:
        lowest = min(lowest, first.key - 1)
        first += 1
    return lowest + 1


cdef int mix_row(Weights weights, Cursor *first, Cursor *last, uint64_t key, Total *totals,
                 const Rule *rule) except -1 nogil:
    """One row: by class, how far shards have changed the weight, and the sum of what it was.

    What a shard did not update is in it as it is here. The totals are all zero, before and after.
    """
    cdef Slot *slot = weights.make_row(key)
    cdef Cursor *part
    cdef Total *total
    cdef int64_t at, place, before
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
                total = totals + part.numbers[at]
                place = weights.make_entry(slot, part.numbers[at])
                before = weights.weight_at(slot, place)[0]
                total.change += part.times * (part.weights[at] - before)
                total.sum += part.sums[at] - part.steps * before
                total.shards += 1
                if alone:
                    move(weights, slot, place, total, rule)
        part += 1
    part = first
    while part < last:
        if part.key == key:
            if not alone:
                move_row(weights, slot, part, totals, rule)
            go_to(part, part.row + 1)
            look_ahead(weights, part)
        part += 1
    return 0


cdef inline int move_row(Weights weights, Slot *slot, const Cursor *part, Total *totals,
                         const Rule *rule) except -1 nogil:
    """Change the weights that a shard has updated, when all shards have been added up."""
    cdef int64_t at
    for at in range(start_of(part), part.ends[part.row]):
        move(weights, slot, weights.make_entry(slot, part.numbers[at]), totals + part.numbers[at], rule)
    return 0


cdef inline void move(Weights weights, const Slot *slot, int64_t place, Total *total, const Rule *rule) noexcept nogil:
    """Change a weight by what shards have changed; nothing is left for the next part that has it."""
    cdef int64_t change = rounded(total.change * rule.factors[total.shards], rule.divisor)
    weights.weight_at(slot, place)[0] += <int32_t>change
    weights.late[place] += weights.steps * change - total.sum
    total[0] = Total(0, 0, 0)


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

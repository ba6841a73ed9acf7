"""Score and update of the averaged perceptron, and its weights as sorted arrays for files and for mixing."""

from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy, memset

from covington.features cimport MOST_TEMPLATES
from covington.kernels cimport prefetch

import numpy as np


cdef enum:
    KEY_SHIFT = 8       # the low bits of a key are the template's number, the same for very many


cdef class Weights:
    """Sparse integer weights, with what their average over all steps needs."""

    def __cinit__(self, int classes):
        if not 1 <= classes <= 65535:
            raise ValueError(f"{classes} classes: there must be 1 to 65535")
        self.classes = classes
        self.mask = (1 << 16) - 1
        self.slots = <Slot *>calloc(self.mask + 1, sizeof(Slot))
        self.entries_room = 1 << 16
        self.entries = <Entry *>calloc(self.entries_room, sizeof(Entry))
        self.late = <int64_t *>calloc(self.entries_room, sizeof(int64_t))
        if self.slots == NULL or self.entries == NULL or self.late == NULL:
            raise MemoryError()
        for size in range(17):
            self.free_rows[size] = -1

    def __dealloc__(self):
        free(self.slots)
        free(self.entries)
        free(self.late)

    def __len__(self):
        return self.rows

    cdef Slot *find(self, uint64_t key) noexcept nogil:
        """The place of a key, or the empty place where it belongs."""
        cdef uint64_t at = (key >> KEY_SHIFT) & self.mask
        while self.slots[at].key != key and self.slots[at].key != 0:
            at = (at + 1) & self.mask
        return &self.slots[at]

    cdef void score(self, const uint64_t *keys, int count, int64_t *scores) noexcept nogil:
        """Add the weights of all features to the scores of the classes.

        Three rounds, so that the memory behind all features is fetched at once and not in turn.
        """
        cdef const Slot *found[MOST_TEMPLATES]
        cdef const Entry *entry
        cdef const Entry *end
        cdef int k, rows = 0
        for k in range(count):
            prefetch(&self.slots[(keys[k] >> KEY_SHIFT) & self.mask])
        for k in range(count):
            found[rows] = self.find(keys[k])
            if found[rows].size > 0:
                prefetch(self.entries + found[rows].start)
                rows += 1
        for k in range(rows):
            entry = self.entries + found[k].start
            end = entry + found[k].size
            while entry < end:
                scores[entry.number] += entry.weight
                entry += 1

    cdef int grow_slots(self) except -1 nogil:
        cdef Slot *old = self.slots
        cdef uint64_t old_mask = self.mask, at
        cdef Slot *bigger = <Slot *>calloc(2 * (old_mask + 1), sizeof(Slot))
        if bigger == NULL:
            with gil:
                raise MemoryError("no memory for more features")
        self.slots = bigger
        self.mask = 2 * old_mask + 1
        for at in range(old_mask + 1):
            if old[at].key != 0:
                self.find(old[at].key)[0] = old[at]
        free(old)
        return 0

    cdef int grow_row(self, Slot *slot) except -1 nogil:
        """Twice the room for a row; the old place goes to the next row that needs that much."""
        cdef int size = 1, room = 2
        cdef int64_t start
        while room <= slot.room:
            room *= 2
            size += 1
        start = self.free_rows[size]
        if start >= 0:
            self.free_rows[size] = self.late[start]
        else:
            if self.entries_used + room > self.entries_room:
                self.grow_entries()
            start = self.entries_used
            self.entries_used += room
        memcpy(self.entries + start, self.entries + slot.start, slot.size * sizeof(Entry))
        memcpy(self.late + start, self.late + slot.start, slot.size * sizeof(int64_t))
        if slot.room > 0:
            self.late[slot.start] = self.free_rows[size - 1]
            self.free_rows[size - 1] = slot.start
        slot.start = <uint32_t>start
        slot.room = <uint16_t>(room if room < 65536 else 65535)
        return 0

    cdef int grow_entries(self) except -1 nogil:
        cdef int64_t wanted = 2 * self.entries_room
        cdef Entry *entries = NULL
        cdef int64_t *late = NULL
        if wanted <= <int64_t>1 << 32:       # a row's start has 32 bits
            entries = <Entry *>realloc(self.entries, wanted * sizeof(Entry))
            if entries != NULL:
                self.entries = entries
                late = <int64_t *>realloc(self.late, wanted * sizeof(int64_t))
        if late == NULL:
            with gil:
                raise MemoryError("no memory for more weights")
        self.late = late
        self.entries_room = wanted
        return 0

    cdef int64_t place(self, uint64_t key, int number) except -1 nogil:
        """Where the weight of a feature for a class is, made if it is not there."""
        cdef Slot *slot = self.find(key)
        cdef int64_t at
        if slot.key == 0:
            if 3 * self.rows >= 2 * <int64_t>self.mask:
                self.grow_slots()
                slot = self.find(key)
            slot.key = key
            self.rows += 1
        for at in range(slot.start, <int64_t>slot.start + slot.size):
            if self.entries[at].number == number:
                return at
        if slot.size == slot.room:
            self.grow_row(slot)
        at = <int64_t>slot.start + slot.size
        slot.size += 1
        self.late[at] = 0
        self.entries[at].weight = 0
        self.entries[at].number = <uint16_t>number
        return at

    cdef int update(self, const uint64_t *keys, int count, int number, int32_t change) except -1 nogil:
        """Raise or lower the weight of every feature for one class."""
        cdef int k
        cdef int64_t at
        for k in range(count):
            at = self.place(keys[k], number)
            self.entries[at].weight += change
            self.late[at] += self.steps * change
        return 0

    def arrays(self):
        """All that is known, sorted by key and class: keys, row ends, classes, weights and sums over the steps."""
        cdef int64_t row, total = 0, at = 0, place
        cdef uint64_t slot
        cdef Slot *found
        cdef uint64_t[::1] keys = np.empty(self.rows, dtype=np.uint64)
        row = 0
        for slot in range(self.mask + 1):
            if self.slots[slot].key != 0:
                keys[row] = self.slots[slot].key
                row += 1
                total += self.slots[slot].size
        np.asarray(keys).sort()
        cdef int64_t[::1] ends = np.empty(self.rows, dtype=np.int64)
        cdef uint16_t[::1] numbers = np.empty(total, dtype=np.uint16)
        cdef int32_t[::1] weights = np.empty(total, dtype=np.int32)
        cdef int64_t[::1] sums = np.empty(total, dtype=np.int64)
        with nogil:
            for row in range(self.rows):
                found = self.find(keys[row])
                self.sort_row(found)
                for place in range(found.start, <int64_t>found.start + found.size):
                    numbers[at] = self.entries[place].number
                    weights[at] = self.entries[place].weight
                    sums[at] = self.steps * self.entries[place].weight - self.late[place]
                    at += 1
                ends[row] = at
        return {
            "keys": np.asarray(keys), "ends": np.asarray(ends), "classes": np.asarray(numbers),
            "weights": np.asarray(weights), "sums": np.asarray(sums),
        }

    def for_a_shard(self):
        """The same weights with nothing averaged yet, to learn on from."""
        return self.copy()

    cdef Weights copy(self):
        """A copy of the weights alone: no steps, no updates, nothing late."""
        cdef Weights made = Weights(self.classes)
        cdef Slot *slots = <Slot *>realloc(made.slots, (self.mask + 1) * sizeof(Slot))
        if slots == NULL:
            raise MemoryError("no memory for more features")
        made.slots = slots
        made.mask = self.mask
        made.rows = self.rows
        while made.entries_room < self.entries_used:
            made.grow_entries()
        with nogil:
            memcpy(made.slots, self.slots, (self.mask + 1) * sizeof(Slot))
            memcpy(made.entries, self.entries, self.entries_used * sizeof(Entry))
            memset(made.late, 0, self.entries_used * sizeof(int64_t))
        made.entries_used = self.entries_used      # rows that were free stay unused
        return made

    cdef int add(self, Weights other, int64_t times) except -1 nogil:
        """Collect the weights of another table, multiplied, in `late`; `settle` makes weights of them."""
        cdef uint64_t slot
        cdef int64_t at
        cdef Slot *found
        for slot in range(other.mask + 1):
            found = &other.slots[slot]
            for at in range(found.start, <int64_t>found.start + found.size):
                self.late[self.place(found.key, other.entries[at].number)] += times * other.entries[at].weight
        return 0

    cdef void settle(self, int64_t divisor, int64_t steps) noexcept nogil:
        """Divide what was collected, rounding halves up, and begin the sums with the weights at every step."""
        cdef uint64_t slot
        cdef int64_t at, doubled
        for slot in range(self.mask + 1):
            for at in range(self.slots[slot].start, <int64_t>self.slots[slot].start + self.slots[slot].size):
                doubled = 2 * self.late[at] + divisor
                self.entries[at].weight = <int32_t>(doubled // (2 * divisor) - (doubled % (2 * divisor) < 0))
                self.late[at] = steps * self.entries[at].weight

    cdef int count_in(self, Weights other) except -1 nogil:
        """Add the sums of another table to the average; weights and steps are already the final ones."""
        cdef uint64_t slot
        cdef int64_t at
        cdef Slot *found
        for slot in range(other.mask + 1):
            found = &other.slots[slot]
            for at in range(found.start, <int64_t>found.start + found.size):
                self.late[self.place(found.key, other.entries[at].number)] -= (
                    other.steps * other.entries[at].weight - other.late[at]
                )
        return 0

    cdef void sort_row(self, Slot *slot) noexcept nogil:
        """By class; rows are short and nearly sorted."""
        cdef int64_t first = slot.start, a, b, late
        cdef Entry entry
        for a in range(first + 1, first + slot.size):
            entry = self.entries[a]
            late = self.late[a]
            b = a
            while b > first and self.entries[b - 1].number > entry.number:
                self.entries[b] = self.entries[b - 1]
                self.late[b] = self.late[b - 1]
                b -= 1
            self.entries[b] = entry
            self.late[b] = late

    @staticmethod
    def mix(Weights previous, list parts, str by):
        """One table from the shards of an epoch that all began with `previous`.

        The weights are the mean of the parts, uniform or by their updates; the average goes on over the steps of
        all shards. One part alone comes out as it went in.
        """
        cdef Weights mixed = previous.copy()
        cdef Weights part
        cdef int64_t divisor = 0, times
        mixed.steps, mixed.updates = previous.steps, previous.updates
        uniform = by == "uniform" or not any(part.updates for part in parts)
        for part in parts:
            times = 1 if uniform else part.updates
            divisor += times
            mixed.steps += part.steps
            mixed.updates += part.updates
            with nogil:
                mixed.add(part, times)
        with nogil:
            mixed.settle(divisor, mixed.steps)
        for part in [previous, *parts]:
            with nogil:
                mixed.count_in(part)
        return mixed

    @staticmethod
    def from_arrays(int classes, int64_t steps, int64_t updates, dict arrays):
        """The inverse of `arrays`; the caller has checked that the arrays fit together."""
        cdef Weights made = Weights(classes)
        cdef const uint64_t[::1] keys = arrays["keys"]
        cdef const int64_t[::1] ends = arrays["ends"]
        cdef const uint16_t[::1] numbers = arrays["classes"]
        cdef const int32_t[::1] weights = arrays["weights"]
        cdef const int64_t[::1] sums = arrays["sums"]
        cdef int64_t row, place, at = 0
        made.steps = steps
        made.updates = updates
        with nogil:
            for row in range(keys.shape[0]):
                while at < ends[row]:
                    place = made.place(keys[row], numbers[at])
                    made.entries[place].weight = weights[at]
                    made.late[place] = steps * weights[at] - sums[at]
                    at += 1
        return made

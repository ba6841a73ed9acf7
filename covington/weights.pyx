"""Score and update of the averaged perceptron, and its weights as sorted arrays for files and for mixing."""

from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy

import numpy as np

cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    #define covington_prefetch(address) __builtin_prefetch(address)
    #else
    #define covington_prefetch(address)
    #endif
    """
    void covington_prefetch(const void *address) noexcept nogil


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
        if self.slots == NULL or self.entries == NULL:
            raise MemoryError()
        for size in range(17):
            self.free_rows[size] = -1

    def __dealloc__(self):
        free(self.slots)
        free(self.entries)

    def __len__(self):
        return self.rows

    cdef Slot *find(self, uint64_t key) noexcept nogil:
        """The place of a key, or the empty place where it belongs."""
        cdef uint64_t at = key & self.mask
        while self.slots[at].key != key and self.slots[at].key != 0:
            at = (at + 1) & self.mask
        return &self.slots[at]

    cdef void score(self, const uint64_t *keys, int count, int64_t *scores) noexcept nogil:
        """Add the weights of all features to the scores of the classes."""
        cdef int k, e
        cdef Slot *slot
        cdef Entry *entry
        for k in range(count):
            covington_prefetch(&self.slots[keys[k] & self.mask])
        for k in range(count):
            slot = self.find(keys[k])
            entry = self.entries + slot.start
            for e in range(slot.size):
                scores[entry[e].number] += entry[e].weight

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
        cdef int64_t start, wanted
        cdef Entry *bigger
        while room <= slot.room:
            room *= 2
            size += 1
        start = self.free_rows[size]
        if start >= 0:
            self.free_rows[size] = self.entries[start].late
        else:
            if self.entries_used + room > self.entries_room:
                wanted = 2 * self.entries_room
                bigger = NULL
                if wanted < <int64_t>1 << 32:       # a row's start has 32 bits
                    bigger = <Entry *>realloc(self.entries, wanted * sizeof(Entry))
                if bigger == NULL:
                    with gil:
                        raise MemoryError("no memory for more weights")
                self.entries = bigger
                self.entries_room = wanted
            start = self.entries_used
            self.entries_used += room
        memcpy(self.entries + start, self.entries + slot.start, slot.size * sizeof(Entry))
        if slot.room > 0:
            self.entries[slot.start].late = self.free_rows[size - 1]
            self.free_rows[size - 1] = slot.start
        slot.start = <uint32_t>start
        slot.room = <uint16_t>(room if room < 65536 else 65535)
        return 0

    cdef Entry *place(self, uint64_t key, int number) except NULL nogil:
        """The weight of a feature for a class, made if it is not there."""
        cdef Slot *slot = self.find(key)
        cdef Entry *entry
        cdef int e
        if slot.key == 0:
            if 3 * self.rows >= 2 * <int64_t>self.mask:
                self.grow_slots()
                slot = self.find(key)
            slot.key = key
            self.rows += 1
        entry = self.entries + slot.start
        for e in range(slot.size):
            if entry[e].number == number:
                return &entry[e]
        if slot.size == slot.room:
            self.grow_row(slot)
        entry = self.entries + slot.start + slot.size
        slot.size += 1
        entry.late = 0
        entry.weight = 0
        entry.number = <uint16_t>number
        return entry

    cdef int update(self, const uint64_t *keys, int count, int number, int32_t change) except -1 nogil:
        """Raise or lower the weight of every feature for one class."""
        cdef int k
        cdef Entry *entry
        for k in range(count):
            entry = self.place(keys[k], number)
            entry.weight += change
            entry.late += self.steps * change
        return 0

    def arrays(self):
        """All that is known, sorted by key and class: keys, row ends, classes, weights and sums over the steps."""
        cdef int64_t row, total = 0, at = 0
        cdef uint64_t slot
        cdef int e
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
        cdef Entry *entry
        with nogil:
            for row in range(self.rows):
                found = self.find(keys[row])
                entry = self.entries + found.start
                sort_entries(entry, found.size)
                for e in range(found.size):
                    numbers[at] = entry[e].number
                    weights[at] = entry[e].weight
                    sums[at] = self.steps * entry[e].weight - entry[e].late
                    at += 1
                ends[row] = at
        return {
            "keys": np.asarray(keys), "ends": np.asarray(ends), "classes": np.asarray(numbers),
            "weights": np.asarray(weights), "sums": np.asarray(sums),
        }

    def for_a_shard(self):
        """The same weights with nothing averaged yet, to learn on from."""
        cdef Weights made = Weights(self.classes)
        made.add(self, 1)
        made.settle(1)
        return made

    cdef int add(self, Weights other, int64_t times) except -1:
        """Collect the weights of another table, multiplied, in `late`; `settle` makes weights of them."""
        cdef uint64_t slot
        cdef int e
        cdef Slot *found
        for slot in range(other.mask + 1):
            found = &other.slots[slot]
            for e in range(found.size):
                self.place(found.key, other.entries[found.start + e].number).late += (
                    times * other.entries[found.start + e].weight
                )
        return 0

    cdef void settle(self, int64_t divisor) noexcept nogil:
        """Divide what was collected, rounding halves up, so that the order of shards never matters."""
        cdef uint64_t slot
        cdef int e
        cdef int64_t doubled
        cdef Entry *entry
        for slot in range(self.mask + 1):
            for e in range(self.slots[slot].size):
                entry = self.entries + self.slots[slot].start + e
                doubled = 2 * entry.late + divisor
                entry.weight = <int32_t>(doubled // (2 * divisor) - (doubled % (2 * divisor) < 0))
                entry.late = 0

    cdef int count_in(self, Weights other) except -1:
        """Add the sums of another table to the average; weights and steps are already the final ones."""
        cdef uint64_t slot
        cdef int e
        cdef Slot *found
        cdef Entry *entry
        for slot in range(other.mask + 1):
            found = &other.slots[slot]
            for e in range(found.size):
                entry = other.entries + found.start + e
                self.place(found.key, entry.number).late -= other.steps * entry.weight - entry.late
        return 0

    @staticmethod
    def mix(Weights previous, list parts, str by):
        """One table from the shards of an epoch that all began with `previous`.

        The weights are the mean of the parts, uniform or by their updates; the average goes on over the steps of
        all shards. One part alone comes out as it went in.
        """
        cdef Weights mixed = Weights(previous.classes)
        cdef Weights part
        cdef uint64_t slot
        cdef int e
        cdef int64_t divisor = 0, times
        cdef Entry *entry
        mixed.add(previous, 0)
        mixed.steps, mixed.updates = previous.steps, previous.updates
        uniform = by == "uniform" or not any(part.updates for part in parts)
        for part in parts:
            times = 1 if uniform else part.updates
            mixed.add(part, times)
            divisor += times
            mixed.steps += part.steps
            mixed.updates += part.updates
        mixed.settle(divisor)
        for slot in range(mixed.mask + 1):
            for e in range(mixed.slots[slot].size):
                entry = mixed.entries + mixed.slots[slot].start + e
                entry.late = mixed.steps * entry.weight
        for part in [previous, *parts]:
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
        cdef int64_t row, at = 0
        cdef Entry *entry
        made.steps = steps
        made.updates = updates
        with nogil:
            for row in range(keys.shape[0]):
                while at < ends[row]:
                    entry = made.place(keys[row], numbers[at])
                    entry.weight = weights[at]
                    entry.late = steps * weights[at] - sums[at]
                    at += 1
        return made


cdef void sort_entries(Entry *entries, int count) noexcept nogil:
    """By class; rows are short and nearly sorted."""
    cdef int a, b
    cdef Entry moved
    for a in range(1, count):
        moved = entries[a]
        b = a
        while b > 0 and entries[b - 1].number > moved.number:
            entries[b] = entries[b - 1]
            b -= 1
        entries[b] = moved

"""Score and update of the averaged perceptron, and its weights as sorted arrays for files and for mixing."""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memset

from covington.features.program cimport MOST_KEYS
from covington.scorers.kernels cimport add_full, allocate, prefetch

import numpy as np


cdef enum:
    GROWTH = 2          # a table that is too full grows by this part
    FULL = 4            # a row with weights for one class in four is made full
    MOST_SLOTS = 0xFFFFFFFF     # half of a key says where its search begins
    AHEAD = 16          # rows, when many are visited: how early the memory behind them is called for


#: what one update adds to a weight
UPDATE = UNIT


cdef Slot *empty_slots(uint64_t count) noexcept nogil:
    cdef Slot *slots = <Slot *>allocate(count * sizeof(Slot))
    if slots != NULL:
        memset(slots, 0, count * sizeof(Slot))
    return slots


cdef void *enlarged(const void *memory, size_t used, size_t wanted) noexcept nogil:
    """A copy with more room, or NULL."""
    cdef void *made = allocate(wanted)
    if made != NULL:
        memcpy(made, memory, used)
    return made


@cython.final
cdef class Weights:
    """Sparse integer weights, with what their average over all steps needs."""

    def __cinit__(self, int classes):
        if not 1 <= classes <= 65535:
            raise ValueError(f"{classes} classes: there must be 1 to 65535")
        self.classes = classes
        self.slots_room = self.slots_there = 1 << 16
        self.slots = empty_slots(self.slots_room)
        self.entries_room = 1 << 16
        self.entries = <Entry *>allocate(self.entries_room * sizeof(Entry))
        self.late = <int64_t *>allocate(self.entries_room * sizeof(int64_t))
        self.notes_room = 1 << 10
        self.notes = <uint64_t *>malloc(self.notes_room * sizeof(uint64_t))
        if self.slots == NULL or self.entries == NULL or self.late == NULL or self.notes == NULL:
            raise MemoryError()
        for size in range(ROOMS):
            self.free_rows[size] = -1

    def __dealloc__(self):
        free(self.notes)
        free(self.slots)
        free(self.entries)
        free(self.late)

    def __len__(self):
        return self.rows

    cdef Slot *home(self, uint64_t key) noexcept nogil:
        """Where the search for a key begins: in the order of keys, so that going by key is going through memory."""
        return &self.slots[((key >> 32) * self.slots_room) >> 32]

    cdef Slot *find(self, uint64_t key) noexcept nogil:
        """The place of a key, or the empty place where it belongs."""
        cdef Slot *slot = self.home(key)
        while slot.key != key and slot.key != 0:
            slot += 1
            if slot == self.slots + self.slots_room:
                slot = self.slots
        return slot

    cdef void score(self, const uint64_t *keys, int count, int64_t *scores) noexcept nogil:
        """Add the weights of all features to the scores of the classes.

        Three rounds, so that the memory behind all features is fetched at once and not in turn.
        """
        cdef const Slot *found[MOST_KEYS]
        cdef const int32_t *full[MOST_KEYS]
        cdef const Entry *entry
        cdef const Entry *end
        cdef int k, rows = 0, full_rows = 0
        for k in range(count):
            prefetch(self.home(keys[k]))
        for k in range(count):
            found[rows] = self.find(keys[k])
            if found[rows].size > 0:
                prefetch(self.entries + found[rows].start)
                rows += 1
        for k in range(rows):
            if self.is_full(found[k]):
                full[full_rows] = self.full_row(found[k])
                full_rows += 1
                continue
            entry = self.entries + found[k].start
            end = entry + found[k].size
            while entry < end:
                scores[entry.number] += entry.weight
                entry += 1
        add_full(scores, full, full_rows, self.classes)

    cdef int grow_slots(self) except -1 nogil:
        cdef Slot *old = self.slots
        cdef uint64_t old_room = self.slots_room, room = old_room + old_room // GROWTH, at
        cdef Slot *bigger = empty_slots(room) if room <= MOST_SLOTS else NULL
        if bigger == NULL:
            with gil:
                raise MemoryError("no memory for more features")
        self.slots = bigger
        self.slots_room = self.slots_there = room
        for at in range(old_room):
            if old[at].key != 0:
                self.find(old[at].key)[0] = old[at]
        free(old)
        return 0

    cdef int64_t take_entries(self, int64_t room) except -1 nogil:
        """The first of so many entries that were never used."""
        if self.entries_used + room > self.entries_room:
            self.grow_entries()
        self.entries_used += room
        return self.entries_used - room

    cdef void give_back(self, const Slot *slot) noexcept nogil:
        """The place of a row that moves goes to the next one that needs as much."""
        if slot.room > 0:
            self.late[slot.start] = self.free_rows[slot.room - 1]
            self.free_rows[slot.room - 1] = slot.start

    cdef int grow_row(self, Slot *slot) except -1 nogil:
        """Twice the room for a row."""
        cdef int64_t start = self.free_rows[slot.room]
        if start >= 0:
            self.free_rows[slot.room] = self.late[start]
        else:
            start = self.take_entries(<int64_t>1 << slot.room)
        memcpy(self.entries + start, self.entries + slot.start, slot.size * sizeof(Entry))
        memcpy(self.late + start, self.late + slot.start, slot.size * sizeof(int64_t))
        self.give_back(slot)
        slot.start = <uint32_t>start
        slot.room += 1
        return 0

    cdef int fill_row(self, Slot *slot) except -1 nogil:
        """Make a row full."""
        cdef int64_t start = self.take_entries(self.classes), old
        cdef int32_t *weights = <int32_t *>(self.entries + start)
        cdef Entry entry
        memset(weights, 0, self.classes * sizeof(Entry))
        memset(self.late + start, 0, self.classes * sizeof(int64_t))
        for old in range(slot.start, <int64_t>slot.start + slot.size):
            entry = self.entries[old]
            weights[entry.number] = entry.weight
            weights[self.classes + entry.number] = entry.noted
            self.late[start + entry.number] = self.late[old]
        self.give_back(slot)
        slot.start = <uint32_t>start
        slot.size = <uint16_t>self.classes
        return 0

    cdef int grow_entries(self) except -1 nogil:
        cdef int64_t wanted = 2 * self.entries_room
        cdef void *entries = NULL
        cdef void *late = NULL
        if wanted <= <int64_t>1 << 32:       # a row's start has 32 bits
            entries = enlarged(self.entries, self.entries_used * sizeof(Entry), wanted * sizeof(Entry))
            late = enlarged(self.late, self.entries_used * sizeof(int64_t), wanted * sizeof(int64_t))
        if entries == NULL or late == NULL:
            free(entries)
            free(late)
            with gil:
                raise MemoryError("no memory for more weights")
        free(self.entries)
        free(self.late)
        self.entries = <Entry *>entries
        self.late = <int64_t *>late
        self.entries_room = wanted
        return 0

    cdef Slot *make_row(self, uint64_t key) except NULL nogil:
        """The place of a key; it is made if it is not there."""
        cdef Slot *slot = self.find(key)
        if slot.key == 0:
            if not self.has_room_for(1):
                self.reserve(1)
                slot = self.find(key)
            slot.key = key
            self.rows += 1
        return slot

    cdef bint has_room_for(self, int64_t more) noexcept nogil:
        return 3 * (self.rows + more) <= 2 * <int64_t>self.slots_room

    cdef int reserve(self, int64_t more) except -1 nogil:
        """Room for so many more rows: many in the order of their keys would crowd a table that grows as they come."""
        while not self.has_room_for(more):
            self.grow_slots()
        return 0

    cdef int64_t make_entry(self, Slot *slot, int number) except -1 nogil:
        """Where the weight of a row for a class is; it is made if it is not there."""
        cdef int64_t at
        if self.is_full(slot):
            return <int64_t>slot.start + number
        for at in range(slot.start, <int64_t>slot.start + slot.size):
            if self.entries[at].number == number:
                return at
        if FULL * (slot.size + 1) >= self.classes:
            self.fill_row(slot)
            return <int64_t>slot.start + number
        if slot.room == 0 or slot.size == 1 << (slot.room - 1):
            self.grow_row(slot)
        at = <int64_t>slot.start + slot.size
        slot.size += 1
        self.late[at] = 0
        self.entries[at] = Entry(0, <uint16_t>number, False)
        return at

    cdef int note(self, Slot *slot) except -1 nogil:
        """Write down that a row changes."""
        cdef uint64_t *notes
        if self.noted == self.notes_room:
            notes = <uint64_t *>realloc(self.notes, 2 * self.notes_room * sizeof(uint64_t))
            if notes == NULL:
                with gil:
                    raise MemoryError("no memory for more weights")
            self.notes = notes
            self.notes_room *= 2
        self.notes[self.noted] = slot.key
        self.noted += 1
        slot.noted = True
        return 0

    cdef int update(self, const uint64_t *keys, int count, const Change *changes, int changed) except -1 nogil:
        """Raise and lower the weights of every feature for some classes."""
        cdef int k, c
        cdef int64_t at
        cdef Slot *slot
        for k in range(count):
            prefetch(self.late + self.find(keys[k]).start)
        for k in range(count):
            slot = self.make_row(keys[k])
            if not slot.noted:
                self.note(slot)
            for c in range(changed):
                at = self.make_entry(slot, changes[c].number)
                self.weight_at(slot, at)[0] += changes[c].change
                self.mark(slot, at)
                self.late[at] += self.steps * changes[c].change
        return 0

    cdef inline void mark(self, const Slot *slot, int64_t place) noexcept nogil:
        """Write down that a weight was updated."""
        if self.is_full(slot):
            self.full_row(slot)[self.classes + (place - slot.start)] = True
        else:
            self.entries[place].noted = True

    cdef inline bint is_marked(self, const Slot *slot, int64_t place) noexcept nogil:
        if self.is_full(slot):
            return self.full_row(slot)[self.classes + (place - slot.start)]
        return self.entries[place].noted

    cdef void wipe(self, const Slot *slot) noexcept nogil:
        """Take the marks of a row away."""
        cdef int64_t place
        if self.is_full(slot):
            memset(self.full_row(slot) + self.classes, 0, self.classes * sizeof(int32_t))
            return
        for place in range(slot.start, <int64_t>slot.start + slot.size):
            self.entries[place].noted = False

    cdef void sort_row(self, Slot *slot) noexcept nogil:
        """By class; rows are short and nearly sorted, full ones always are."""
        cdef int64_t first = slot.start, a, b, late
        cdef Entry entry
        if self.is_full(slot):
            return
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

    def arrays(self):
        """All that is known, sorted by key and class: keys, row ends, classes, weights and sums over the steps."""
        cdef uint64_t[::1] keys = np.empty(self.rows, dtype=np.uint64)
        cdef uint64_t slot
        cdef int64_t row = 0
        for slot in range(self.slots_room):
            if self.slots[slot].key != 0:
                keys[row] = self.slots[slot].key
                row += 1
        return self.arrays_of(np.asarray(keys), False)

    def changes(self):
        """The weights that were updated, as `arrays` has them; those of a table that began as a copy of another."""
        cdef uint64_t[::1] keys = np.empty(self.noted, dtype=np.uint64)
        cdef int64_t k
        for k in range(self.noted):
            keys[k] = self.notes[k]
        return self.arrays_of(np.asarray(keys), True)

    cdef dict arrays_of(self, wanted, bint only_noted):
        """The rows of these keys, sorted, with all weights that are known or those that were updated."""
        wanted.sort()
        cdef const uint64_t[::1] keys = wanted
        cdef int64_t row, rows = keys.shape[0], at = 0, place
        cdef int64_t[::1] ends = np.empty(rows, dtype=np.int64)
        cdef uint16_t[::1] numbers = np.empty(self.entries_used, dtype=np.uint16)
        cdef int32_t[::1] weights = np.empty(self.entries_used, dtype=np.int32)
        cdef int64_t[::1] sums = np.empty(self.entries_used, dtype=np.int64)
        cdef Slot *found
        cdef bint is_full
        cdef int32_t weight
        with nogil:
            for row in range(rows):
                if row + AHEAD < rows:
                    prefetch(self.home(keys[row + AHEAD]))
                    found = self.find(keys[row + AHEAD // 2])
                    prefetch(self.entries + found.start)
                    prefetch(self.late + found.start)
                found = self.find(keys[row])
                self.sort_row(found)
                is_full = self.is_full(found)
                for place in range(found.start, <int64_t>found.start + found.size):
                    weight = self.weight_at(found, place)[0]
                    if self.is_marked(found, place) if only_noted else weight != 0 or self.late[place] != 0:
                        numbers[at] = <uint16_t>(place - found.start) if is_full else self.entries[place].number
                        weights[at] = weight
                        sums[at] = self.steps * weight - self.late[place]
                        at += 1
                ends[row] = at
        return {
            "keys": wanted, "ends": np.asarray(ends), "classes": np.asarray(numbers)[:at],
            "weights": np.asarray(weights)[:at], "sums": np.asarray(sums)[:at],
        }

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
        cdef Slot *slot
        made.steps = steps
        made.updates = updates
        with nogil:
            made.reserve(keys.shape[0])
            for row in range(keys.shape[0]):
                slot = made.make_row(keys[row])
                while at < ends[row]:
                    place = made.make_entry(slot, numbers[at])
                    made.weight_at(slot, place)[0] = weights[at]
                    made.late[place] = steps * weights[at] - sums[at]
                    at += 1
        return made

    def for_a_shard(self, Weights made=None):
        """A copy of the weights alone, to learn on from: no steps, nothing averaged, nothing noted.

        It takes the place of weights `made` for an earlier shard, if they are given: memory that is new has to be cleared
        first, which takes longer than to copy.
        """
        cdef int64_t k
        cdef Slot *slot
        if made is None or made.classes != self.classes:
            made = Weights(self.classes)
        if made.slots_there < self.slots_room:
            free(made.slots)
            made.slots = <Slot *>allocate(self.slots_room * sizeof(Slot))
            made.slots_there = self.slots_room if made.slots != NULL else 0
            if made.slots == NULL:
                raise MemoryError("no memory for more features")
        made.slots_room = self.slots_room
        made.entries_used = made.noted = made.steps = made.updates = 0
        made.rows = self.rows
        for k in range(ROOMS):
            made.free_rows[k] = -1
        while made.entries_room < self.entries_used:
            made.grow_entries()
        with nogil:
            memcpy(made.slots, self.slots, self.slots_room * sizeof(Slot))
            memcpy(made.entries, self.entries, self.entries_used * sizeof(Entry))
            memset(made.late, 0, self.entries_used * sizeof(int64_t))
            for k in range(self.noted):
                slot = made.find(self.notes[k])
                slot.noted = False
                made.wipe(slot)
        made.entries_used = self.entries_used      # rows that were free stay unused
        return made

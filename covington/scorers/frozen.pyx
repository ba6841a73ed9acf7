"""Laying out frozen weights when a model is saved, and checking their shape when it is loaded."""

from libc.stdint cimport int8_t, int16_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from covington.scorers.kernels cimport CHUNK, allocate
from covington.transition.classes cimport Classes

import numpy as np

from covington.errors import ModelError

cdef enum:
    BUCKET = 16             # 32-bit numbers in a bucket
    FILTERED = 16           # rare features that the filter of one bucket can tell from others well enough
    ENOUGH = 8              # a row with weights for one column in eight or more is dense
    LINE_UNITS = LINE // ROW_UNIT
    PAGE = NEIGHBOURS * LINE
    COMMON = 0              # where a feature is at home
    RARE = 1
    EMPTY = 2               # it is nowhere

#: how full the tables are: fuller ones are smaller, but more look-ups go on to a neighbour
COMMON_LOAD, RARE_LOAD = 0.5, 0.6


cdef class FrozenWeights:
    """Read-only weights, from arrays of a model file."""

    def __cinit__(self, Classes table, const uint16_t[::1] classes, const uint32_t[:, ::1] regions,
                  const uint32_t[:, ::1] common, const uint32_t[:, ::1] rows, const uint32_t[:, ::1] rare, const uint64_t[::1] gate_filter):
        self.table = table.table
        self.take_classes(np.array(classes), table.sizes)
        for name, buckets, width in (
            ("common", common.shape[0], common.shape[1]), ("rare", rare.shape[0], rare.shape[1])
        ):
            if not 1 <= buckets < 1 << 32 or buckets % NEIGHBOURS or width != BUCKET:
                raise ModelError(f"the table of {name} features does not have its shape")
        if gate_filter.shape[0] < 1 or gate_filter.shape[0] & (gate_filter.shape[0] - 1):
            raise ModelError("the filter for gates does not have its shape")
        if rows.shape[0] < 1 or rows.shape[1] != ROW_UNIT // sizeof(uint32_t):
            raise ModelError("the rows of weights do not have their shape")
        # common buckets, rows, rare buckets and the filter, one after the other; neighbours lie in one page
        cdef size_t rows_at = common.nbytes
        cdef size_t rare_at = rows_at + (rows.nbytes + PAGE - 1) // PAGE * PAGE
        cdef size_t filter_at = rare_at + rare.nbytes
        cdef bint sound
        self.memory = <char *>allocate(filter_at + gate_filter.nbytes)
        if self.memory == NULL:
            raise MemoryError()
        memcpy(self.memory, &common[0, 0], common.nbytes)
        memcpy(self.memory + rows_at, &rows[0, 0], rows.nbytes)
        memcpy(self.memory + rare_at, &rare[0, 0], rare.nbytes)
        memcpy(self.memory + filter_at, &gate_filter[0], gate_filter.nbytes)
        self.tables = Tables(
            <const CommonBucket *>self.memory, common.shape[0], self.tables.regions,
            <const RareBucket *>(self.memory + rare_at), rare.shape[0],
            self.memory + rows_at, <const uint64_t *>(self.memory + filter_at), gate_filter.shape[0] - 1,
            self.width * sizeof(int16_t) > 3 * LINE,
        )
        self.take_regions(regions)
        with nogil:
            sound = are_sound(&self.tables, rows.shape[0], self.width, self.columns)
        if not sound:
            raise ModelError("the weights of some feature do not lie where the tables say")

    def __dealloc__(self):
        free(self.memory)

    def weights_of(self, uint64_t key):
        """The weights of a feature, by column."""
        cdef const int16_t *dense[1]
        cdef const Pair *sparse[1]
        cdef Rare rare[1]
        cdef Found first = Found(&dense[0], &sparse[0], &rare[0]), last = first
        cdef int16_t[::1] scores = np.empty(self.width, dtype=np.int16)
        cdef const CommonBucket *home = call(&self.tables, key)
        find(&self.tables, home, key, look(home, key), &last)
        add_up(&self.tables, first.dense, &first, &last, &scores[0], self.width)
        return np.asarray(scores)[:self.columns]

    cdef take_regions(self, const uint32_t[:, ::1] regions):
        """See that the buckets of all templates are there."""
        cdef Region region
        cdef int number
        if regions.shape[0] != NUMBERS or regions.shape[1] != 2:
            raise ModelError("the regions of the templates do not have their shape")
        for number in range(NUMBERS):
            region = Region(regions[number, 0], regions[number, 1])     # a copy: what is checked is what is used
            self.tables.regions[number] = region
            if region.buckets < 1 or <uint64_t>region.first + region.buckets > self.tables.common_buckets:
                raise ModelError("the buckets of some template are not in the table")

    cdef take_classes(self, classes, sizes):
        """See that every transition has its columns, in order, and that there are no others."""
        cdef int place = self.table.transitions
        columns = np.searchsorted(classes, np.cumsum(sizes))
        least = np.ones(len(sizes), np.int64)
        least[place] = sizes[place]     # repairs have all of theirs
        if np.any(np.diff(columns, prepend=0) < least) or np.any(np.diff(classes.astype(np.int64)) < 1) or columns[place] != len(classes):
            raise ModelError(f"columns for {len(classes)} classes do not fit {self.table.labels} labels")
        self.first_column[0] = 0
        for place in range(self.table.transitions + 1):
            self.first_column[place + 1] = columns[place]
        self.classes = classes
        self.columns = len(classes)
        self.width = width_of(self.columns)


cdef bint are_sound(const Tables *tables, int64_t units, int width, int columns) noexcept nogil:
    """Do all rows lie within so many units, and have all pairs the number of a column?"""
    cdef uint64_t bucket
    cdef int place
    for bucket in range(tables.common_buckets):
        for place in range(COMMON_PLACES):
            if tables.common[bucket].fingerprints[place] != 0:
                if not is_sound_row(tables, tables.common[bucket].rows[place], units, width, columns):
                    return False
    for bucket in range(tables.rare_buckets):
        if not is_sound_bucket(&tables.rare[bucket], columns):
            return False
    return True


cdef inline bint is_sound_row(const Tables *tables, uint32_t row, int64_t units, int width, int columns) noexcept nogil:
    """Does one row?"""
    cdef int64_t first = row & ~<uint32_t>DENSE, last
    cdef const Pair *pairs = <const Pair *>(tables.rows + first * ROW_UNIT)
    if row & <uint32_t>DENSE:
        return first + units_of(width) <= units
    if first >= units:
        return False
    last = first + units_of_sparse(pairs.number)
    return last <= units and are_of_columns(pairs + 1, (last - first) * (ROW_UNIT // <int64_t>sizeof(Pair)) - 1, columns)


cdef inline bint are_of_columns(const Pair *pairs, int64_t count, int columns) noexcept nogil:
    """Have all of these pairs the number of a column?"""
    cdef int64_t k
    cdef int largest = 0
    for k in range(count):
        largest = max(largest, <int>pairs[k].number)
    return largest < columns


cdef inline bint is_sound_bucket(const RareBucket *bucket, int columns) noexcept nogil:
    """Have all pairs of a bucket?"""
    cdef int place, k, largest = 0
    for place in range(RARE_PLACES):
        for k in range(PAIRS):
            largest = max(largest, <int>bucket.pairs[place][k].number)
    return largest < columns


cdef int64_t units_of(int width) noexcept nogil:
    """The units of a dense row."""
    return width * <int64_t>sizeof(int16_t) // ROW_UNIT


cdef int64_t units_of_sparse(int64_t pairs) noexcept nogil:
    return ((1 + pairs) * <int64_t>sizeof(Pair) + ROW_UNIT - 1) // ROW_UNIT


cdef int64_t start_of(int64_t at, int64_t units) noexcept nogil:
    """Where, from `at` on, a row of so many units can begin and touch no more lines than it must."""
    cdef int64_t before = at % LINE_UNITS, fewest = (units + LINE_UNITS - 1) // LINE_UNITS
    return at if before + units <= fewest * LINE_UNITS else at - before + LINE_UNITS


cdef int width_of(int columns) noexcept:
    return (columns + CHUNK - 1) // CHUNK * CHUNK


def make_filter(const uint64_t[::1] keys):
    """A Bloom filter with twelve bits or more for each key."""
    cdef int64_t k, words = 1
    while 64 * words < 12 * keys.shape[0]:
        words *= 2
    cdef uint64_t[::1] filter = np.zeros(words, dtype=np.uint64)
    for k in range(keys.shape[0]):
        filter[gate_word(keys[k]) & <uint64_t>(words - 1)] |= gate_bits(keys[k])
    return np.asarray(filter)


class Crowded(Exception):
    """A feature would be too far from its own bucket."""


cdef (uint64_t, int) take_place(uint32_t[:, ::1] table, uint64_t key, uint64_t home, int places) except *:
    """Bucket and place of the first free place for a key, with its fingerprint written."""
    cdef uint64_t bucket
    cdef int place, looked
    for looked in range(NEIGHBOURS):
        bucket = neighbour(home, looked)
        for place in range(places):
            if table[bucket, place] == 0:
                table[bucket, place] = fingerprint_of(key)
                return bucket, place
    raise Crowded


def lay_out(int columns, const uint64_t[::1] keys, const int64_t[::1] ends, const uint16_t[::1] numbers,
            const int16_t[::1] weights):
    """The tables of FrozenWeights, from rows sorted by key and column; weights of 0 are left out."""
    for spare in (1.0, 1.5, 2.0, 4.0):
        try:
            return _lay_out(columns, keys, ends, numbers, weights, spare)
        except Crowded:
            continue
    raise ModelError("the features crowd together in the table: train with another seed")


def _lay_out(int columns, const uint64_t[::1] keys, const int64_t[::1] ends, const uint16_t[::1] numbers,
             const int16_t[::1] weights, double spare):
    """The tables, with so many times the room that is usually enough."""
    cdef int64_t[::1] lengths = np.zeros(keys.shape[0], dtype=np.int64)
    cdef int8_t[::1] kinds = np.zeros(keys.shape[0], dtype=np.int8)
    sort_out(ends, numbers, weights, lengths, kinds)
    cdef int64_t common = np.count_nonzero(np.asarray(kinds) == COMMON), rare = np.count_nonzero(np.asarray(kinds) == RARE)
    cdef int64_t[::1] order = np.lexsort((-np.asarray(lengths), kinds))     # the common ones first, the longest before all
    cdef const uint32_t[:, ::1] regions = _regions((np.asarray(keys) & (NUMBERS - 1)).astype(np.int64), np.asarray(kinds), spare)
    cdef const Region *region = <const Region *>&regions[0, 0]
    cdef uint32_t[:, ::1] common_table = _empty_table(np.asarray(regions).sum(axis=1).max())
    cdef uint32_t[:, ::1] rare_table = _empty_table(spare * rare / (RARE_LOAD * RARE_PLACES))
    cdef int64_t[::1] starts = np.zeros(common, dtype=np.int64)
    cdef int64_t row, first, ranked, units, end = 0
    for ranked in range(common):
        row = order[ranked]
        units = units_of(width_of(columns)) if is_dense(lengths[row], columns) else units_of_sparse(lengths[row])
        starts[ranked] = start_of(end, units)
        end = starts[ranked] + units
    if end >= DENSE:
        raise ModelError("the model is too large: prune it")
    cdef uint32_t[:, ::1] rows = np.zeros((max(1, end), ROW_UNIT // sizeof(uint32_t)), dtype=np.uint32)
    cdef CommonBucket *home
    cdef uint64_t bucket
    cdef int place
    for ranked in range(common + rare):
        row = order[ranked]
        first = ends[row - 1] if row else 0
        bucket = common_bucket_of(keys[row], region)
        if ranked < common:
            bucket, place = take_place(common_table, keys[row], bucket, COMMON_PLACES)
            common_table[bucket, COMMON_PLACES + place] = <uint32_t>starts[ranked]
            if is_dense(lengths[row], columns):
                common_table[bucket, COMMON_PLACES + place] |= DENSE
                write_dense(<int16_t *>&rows[starts[ranked], 0], numbers, weights, first, ends[row])
            else:
                write_sparse(<Pair *>&rows[starts[ranked], 0], numbers, weights, first, ends[row])
        else:
            home = <CommonBucket *>&common_table[bucket, 0]
            home.filter |= rare_bits(keys[row])
            bucket, place = take_place(rare_table, keys[row], bucket_of(keys[row], rare_table.shape[0]), RARE_PLACES)
            write_small((<RareBucket *>&rare_table[bucket, 0]).pairs[place], numbers, weights, first, ends[row])
    return {
        "regions": np.asarray(regions), "common": np.asarray(common_table), "rows": np.asarray(rows),
        "rare": np.asarray(rare_table),
    }


cdef void sort_out(const int64_t[::1] ends, const uint16_t[::1] numbers, const int16_t[::1] weights, int64_t[::1] lengths,
                   int8_t[::1] kinds) noexcept:
    """How many weights has each row, and in which table is it at home?"""
    cdef int64_t row, at, first = 0
    cdef bint is_small
    for row in range(ends.shape[0]):
        is_small = True
        for at in range(first, ends[row]):
            if weights[at] != 0:
                lengths[row] += 1
                is_small &= (numbers[at] < 1 << 8) & (-128 <= weights[at] < 128)
        kinds[row] = EMPTY if lengths[row] == 0 else RARE if is_small and lengths[row] <= PAIRS else COMMON
        first = ends[row]


def _regions(numbers, kinds, spare):
    """First bucket and buckets of each template, from the numbers of all keys; those with the fewest features first."""
    common, rare = (np.bincount(numbers[kinds == kind], minlength=NUMBERS) for kind in (COMMON, RARE))
    buckets = np.maximum(1, np.ceil(spare * np.maximum(common / (COMMON_LOAD * COMMON_PLACES), rare / FILTERED)))
    order = np.argsort(buckets, kind="stable")
    first = np.zeros(NUMBERS)
    first[order] = np.cumsum(buckets[order]) - buckets[order]
    return np.stack([first, buckets], axis=1).astype(np.uint32)


cdef bint is_dense(int64_t length, int columns) noexcept:
    return ENOUGH * length >= columns


cdef void write_dense(int16_t *row, const uint16_t[::1] numbers, const int16_t[::1] weights, int64_t first,
                      int64_t last) noexcept:
    cdef int64_t at
    for at in range(first, last):
        if weights[at] != 0:
            row[numbers[at]] = weights[at]


cdef void write_sparse(Pair *row, const uint16_t[::1] numbers, const int16_t[::1] weights, int64_t first,
                       int64_t last) noexcept:
    cdef int64_t at
    for at in range(first, last):
        if weights[at] != 0:
            row.number += 1
            row[row.number] = Pair(numbers[at], weights[at])


cdef void write_small(SmallPair *pairs, const uint16_t[::1] numbers, const int16_t[::1] weights, int64_t first,
                      int64_t last) noexcept:
    cdef int64_t at
    for at in range(first, last):
        if weights[at] != 0:
            pairs[0] = SmallPair(<uint8_t>numbers[at], <int8_t>weights[at])
            pairs += 1


def _empty_table(double buckets):
    """Room for so many buckets, and for the neighbours of all."""
    return np.zeros((max(1, int(np.ceil(buckets / NEIGHBOURS))) * NEIGHBOURS, BUCKET), dtype=np.uint32)

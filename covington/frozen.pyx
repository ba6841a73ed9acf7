"""Looking up frozen weights, and laying them out when a model is saved."""

from libc.stdint cimport int16_t, int32_t, int64_t, uint16_t, uint32_t, uint64_t

from covington.machine cimport covington_prefetch

import numpy as np

from covington.errors import ModelError

cdef extern from *:
    """
    /* A chunk is 4 bytes for its number and 16 weights; its number is masked, so that any number is safe. */
    COVINGTON_CLONES static void covington_add_chunks(int32_t *scores, const int16_t *chunk, int count, int mask) {
        for (; count > 0; count--, chunk += 18) {
            int32_t *to = scores + 16 * ((uint16_t)chunk[0] & mask);
            for (int k = 0; k < 16; k++) to[k] += chunk[2 + k];
        }
    }
    """
    void covington_add_chunks(int32_t *scores, const int16_t *chunk, int count, int mask) noexcept nogil


cdef inline uint64_t bucket_of(uint64_t key, uint64_t buckets) noexcept nogil:
    return ((key >> 32) * buckets) >> 32


cdef inline uint32_t fingerprint_of(uint64_t key) noexcept nogil:
    return <uint32_t>key            # never 0: the low bits are the number of the template


cdef inline uint64_t filter_word(uint64_t key) noexcept nogil:
    return key >> 26


cdef inline uint64_t filter_bits(uint64_t key) noexcept nogil:
    """Three bits of one word of a filter."""
    return (<uint64_t>1 << (key >> 8 & 63)) | (<uint64_t>1 << (key >> 14 & 63)) | (<uint64_t>1 << (key >> 20 & 63))


cdef class FrozenWeights:
    """Read-only weights over arrays of a model file."""

    def __cinit__(self, int classes, const uint32_t[:, ::1] common, const uint32_t[::1] rows,
                  const uint32_t[:, ::1] rare, const uint64_t[::1] rare_filter, const uint64_t[::1] gate_filter):
        if not 4 <= classes <= 65534:
            raise ModelError(f"a model with {classes} classes cannot be used")
        for name, length, places, width, wanted in (
            ("common", common.shape[0], COMMON_PLACES, common.shape[1], 2),
            ("rare", rare.shape[0], RARE_PLACES, rare.shape[1], 4),
        ):
            if length < places or length % places or width != wanted or length >= 1 << 32:
                raise ModelError(f"the table of {name} features does not have its shape")
        for words in (rare_filter.shape[0], gate_filter.shape[0]):
            if words < 1 or words & (words - 1):
                raise ModelError("a filter does not have its shape")
        self.owner = (common, rows, rare, rare_filter, gate_filter)
        self.classes = classes
        self.width = max(CHUNK, 1 << (classes - 1).bit_length())
        self.common = <const CommonPlace *>&common[0, 0]
        self.common_buckets = common.shape[0] // COMMON_PLACES
        self.rare = <const RarePlace *>&rare[0, 0]
        self.rare_buckets = rare.shape[0] // RARE_PLACES
        self.rows_length = rows.shape[0]
        if self.rows_length:
            self.rows = <const Pair *>&rows[0]
        self.rare_filter = &rare_filter[0]
        self.rare_mask = rare_filter.shape[0] - 1
        self.gate_filter = &gate_filter[0]
        self.gate_mask = gate_filter.shape[0] - 1

    cdef bint may_know(self, uint64_t key) noexcept nogil:
        """False if no feature behind this gate can be known."""
        cdef uint64_t bits = filter_bits(key)
        return self.gate_filter[filter_word(key) & self.gate_mask] & bits == bits

    cdef void call(self, uint64_t key) noexcept nogil:
        """Begin to fetch what `find` will look at."""
        covington_prefetch(self.common + COMMON_PLACES * bucket_of(key, self.common_buckets))
        covington_prefetch(self.rare_filter + (filter_word(key) & self.rare_mask))

    cdef bint find(self, uint64_t key, Found *found) noexcept nogil:
        """Find a feature, and begin to fetch what `add` will look at; False if the model does not know it."""
        cdef uint64_t bucket = bucket_of(key, self.common_buckets), looked, bits
        cdef uint32_t fingerprint = fingerprint_of(key)
        cdef const CommonPlace *place
        cdef int p
        found.row = NULL
        for looked in range(min(self.common_buckets, <uint64_t>FARTHEST_BUCKET)):
            place = self.common + COMMON_PLACES * bucket
            for p in range(COMMON_PLACES):
                if place[p].fingerprint == fingerprint:
                    if place[p].start >= self.rows_length:
                        return False
                    found.row = self.rows + place[p].start
                    covington_prefetch(found.row)
                    return True
            if place[COMMON_PLACES - 1].fingerprint == 0:
                break
            bucket += 1                                 # a full bucket flows over into the next
            if bucket == self.common_buckets:
                bucket = 0
        bits = filter_bits(key)
        if self.rare_filter[filter_word(key) & self.rare_mask] & bits != bits:
            return False
        found.bucket = self.rare + RARE_PLACES * bucket_of(key, self.rare_buckets)
        found.fingerprint = fingerprint
        covington_prefetch(found.bucket)
        return True

    cdef void add(self, const Found *found, int32_t *scores) noexcept nogil:
        """Add the weights of a feature to the scores, which have `width` places."""
        cdef int e, p, chunks, mask = self.width - 1
        cdef uint64_t looked, left
        cdef const Pair *pairs
        cdef const RarePlace *bucket
        if found.row != NULL:
            chunks = found.row.number
            pairs = found.row + 1 + CHUNK_PAIRS * chunks
            left = self.rows_length - <uint64_t>(found.row - self.rows)
            if 1 + CHUNK_PAIRS * <uint64_t>chunks + <uint16_t>found.row.weight > left:
                return                                  # not within the model: forged, for a checksum holds
            covington_add_chunks(scores, <const int16_t *>(found.row + 1), chunks, mask // CHUNK)
            for e in range(<uint16_t>found.row.weight):
                scores[pairs[e].number & mask] += pairs[e].weight
            return
        bucket = found.bucket
        for looked in range(min(self.rare_buckets, <uint64_t>FARTHEST_BUCKET)):
            for p in range(RARE_PLACES):
                if bucket[p].fingerprint == found.fingerprint:
                    for e in range(PAIRS):
                        scores[bucket[p].pairs[e].number & mask] += bucket[p].pairs[e].weight
                    return
            if bucket[RARE_PLACES - 1].fingerprint == 0:
                return
            bucket += RARE_PLACES
            if bucket == self.rare + RARE_PLACES * self.rare_buckets:
                bucket = self.rare


def make_filter(const uint64_t[::1] keys):
    """A Bloom filter with twelve bits or more for each key."""
    cdef int64_t k, words = 1
    while 64 * words < 12 * keys.shape[0]:
        words *= 2
    cdef uint64_t[::1] filter = np.zeros(words, dtype=np.uint64)
    for k in range(keys.shape[0]):
        filter[filter_word(keys[k]) & <uint64_t>(words - 1)] |= filter_bits(keys[k])
    return np.asarray(filter)


cdef uint32_t *take_place(uint32_t[:, ::1] table, uint64_t key, int places) except NULL:
    """The first free place for a key, with its fingerprint written."""
    cdef uint64_t buckets = table.shape[0] // places, bucket = bucket_of(key, buckets), looked
    cdef int p
    for looked in range(min(buckets, <uint64_t>FARTHEST_BUCKET)):
        for p in range(places):
            if table[bucket * places + p, 0] == 0:
                table[bucket * places + p, 0] = fingerprint_of(key)
                return &table[bucket * places + p, 0]
        bucket = (bucket + 1) % buckets
    raise ModelError("the features crowd together in the table: train with another seed")


def lay_out(int classes, const uint64_t[::1] keys, const int64_t[::1] ends, const uint16_t[::1] numbers,
            const int16_t[::1] weights):
    """The tables of FrozenWeights, from rows sorted by key and class; weights of 0 are left out.

    Long rows belong to common features and come first, so that what is needed often lies together.
    """
    cdef int64_t row, at, first = 0, ranked, rows_length = 0, common = 0, rare = 0
    cdef int64_t[::1] lengths = np.zeros(keys.shape[0], dtype=np.int64)
    for row in range(keys.shape[0]):
        for at in range(first, ends[row]):
            lengths[row] += weights[at] != 0
        if lengths[row] > PAIRS:
            common += 1
            rows_length += write_row(NULL, &numbers[first], &weights[first], ends[row] - first)
        elif lengths[row] > 0:
            rare += 1
        first = ends[row]
    if rows_length >= <int64_t>1 << 32:
        raise ModelError("the model is too large: prune it")
    cdef uint32_t[:, ::1] common_table = _empty_table(common, COMMON_PLACES, 2, 0.75)
    cdef uint32_t[:, ::1] rare_table = _empty_table(rare, RARE_PLACES, 4, 0.9)  # the filter keeps most away
    cdef uint32_t[::1] rows = np.zeros(rows_length, dtype=np.uint32)
    cdef uint64_t[::1] rare_keys = np.empty(rare, dtype=np.uint64)
    cdef int64_t[::1] order = np.argsort(-np.asarray(lengths), kind="stable")
    cdef uint32_t *place
    cdef Pair *pairs
    rows_length = 0
    for ranked in range(common + rare):
        row = order[ranked]
        first = ends[row - 1] if row else 0
        if ranked < common:
            place = take_place(common_table, keys[row], COMMON_PLACES)
            place[1] = <uint32_t>rows_length
            rows_length += write_row(
                <Pair *>&rows[rows_length], &numbers[first], &weights[first], ends[row] - first
            )
            continue
        place = take_place(rare_table, keys[row], RARE_PLACES)
        pairs = <Pair *>(place + 1)
        rare_keys[ranked - common] = keys[row]
        for at in range(first, ends[row]):
            if weights[at] != 0:
                pairs.number = numbers[at]
                pairs.weight = weights[at]
                pairs += 1
    return {
        "common": np.asarray(common_table), "rows": np.asarray(rows), "rare": np.asarray(rare_table),
        "rare_filter": make_filter(rare_keys),
    }


cdef int64_t write_row(Pair *row, const uint16_t *numbers, const int16_t *weights, int64_t count) noexcept nogil:
    """Write a row, or only find out its room: a header, chunks where weights are many, pairs where they are few."""
    cdef int64_t at = 0, end, k, set_here, chunks = 0, pairs = 0, room = 1
    cdef int chunk, wanted
    cdef int16_t *full
    for wanted in range(2):                 # chunks first, then pairs
        at = 0
        while at < count:
            chunk = numbers[at] // CHUNK
            end = at
            set_here = 0
            while end < count and numbers[end] // CHUNK == chunk:
                set_here += weights[end] != 0
                end += 1
            if wanted == 0 and set_here >= ENOUGH:
                if row != NULL:
                    row[room].number = <uint16_t>chunk
                    full = <int16_t *>(row + room + 1)
                    for k in range(at, end):
                        full[numbers[k] % CHUNK] = weights[k]
                chunks += 1
                room += CHUNK_PAIRS
            elif wanted == 1 and set_here < ENOUGH:
                for k in range(at, end):
                    if weights[k] != 0:
                        if row != NULL:
                            row[room].number = numbers[k]
                            row[room].weight = weights[k]
                        pairs += 1
                        room += 1
            at = end
    if row != NULL:
        row.number = <uint16_t>chunks
        row.weight = <int16_t>pairs
    return room


def _empty_table(features, places, width, taken):
    """Room for features, so that this share of the places will be taken."""
    buckets = max(1, int(np.ceil(features / (places * taken))))
    return np.zeros((buckets * places, width), dtype=np.uint32)

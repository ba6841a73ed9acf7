"""Looking up frozen weights, and laying them out when a model is saved."""

from libc.stdint cimport int16_t, int32_t, int64_t, uint16_t, uint32_t, uint64_t

import numpy as np

from covington.errors import ModelError

cdef extern from *:
    """
    #include <stdint.h>
    #if defined(__GNUC__) || defined(__clang__)
    #define covington_prefetch(address) __builtin_prefetch(address)
    #else
    #define covington_prefetch(address)
    #endif
    #if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__)
    #define COVINGTON_CLONES __attribute__((target_clones("avx2", "default")))
    #else
    #define COVINGTON_CLONES
    #endif
    /* The compiler vectorises this; the machine's widest version is chosen when the program starts. */
    COVINGTON_CLONES static void covington_add_row(int32_t *scores, const int16_t *row, int count) {
        for (int k = 0; k < count; k++) scores[k] += row[k];
    }
    """
    void covington_prefetch(const void *address) noexcept nogil
    void covington_add_row(int32_t *scores, const int16_t *row, int count) noexcept nogil


cdef inline uint64_t bucket_of(uint64_t key, uint64_t buckets) noexcept nogil:
    return ((key >> 32) * buckets) >> 32


cdef inline uint32_t fingerprint_of(uint64_t key) noexcept nogil:
    cdef uint32_t low = <uint32_t>key
    return low if low != 0 else 1


cdef inline uint64_t filter_word(uint64_t key) noexcept nogil:
    return key >> 26


cdef inline uint64_t filter_bits(uint64_t key) noexcept nogil:
    """Three bits of one word of the filter."""
    return (<uint64_t>1 << (key >> 8 & 63)) | (<uint64_t>1 << (key >> 14 & 63)) | (<uint64_t>1 << (key >> 20 & 63))


def make_filter(const uint64_t[::1] keys):
    """A Bloom filter with twelve bits or more for each key."""
    cdef int64_t k, words = 1
    while 64 * words < 12 * keys.shape[0]:
        words *= 2
    cdef uint64_t[::1] filter = np.zeros(words, dtype=np.uint64)
    for k in range(keys.shape[0]):
        filter[filter_word(keys[k]) & <uint64_t>(words - 1)] |= filter_bits(keys[k])
    return np.asarray(filter)


cdef class FrozenWeights:
    """Read-only weights over arrays of a model file."""

    def __cinit__(self, int classes, const uint32_t[:, ::1] places, const uint32_t[::1] rows,
                  const uint64_t[::1] filter):
        if not 4 <= classes <= 65534:
            raise ModelError(f"a model with {classes} classes cannot be used")
        if places.shape[0] < PLACES or places.shape[0] % PLACES or places.shape[1] != 4:
            raise ModelError("the table of features does not have its shape")
        if places.shape[0] // PLACES >= 1 << 31:
            raise ModelError("the table of features is too large")
        if filter.shape[0] < 1 or filter.shape[0] & (filter.shape[0] - 1):
            raise ModelError("the filter of word pairs does not have its shape")
        self.owner = (places, rows, filter)
        self.filter = &filter[0]
        self.filter_mask = filter.shape[0] - 1
        self.classes = classes
        self.width = 1 << (classes - 1).bit_length()
        self.places = <const Place *>&places[0, 0]
        self.buckets = places.shape[0] // PLACES
        self.rows_length = rows.shape[0]
        if self.rows_length:
            self.rows = <const Pair *>&rows[0]

    cdef void prefetch_bucket(self, uint64_t key) noexcept nogil:
        covington_prefetch(self.places + PLACES * bucket_of(key, self.buckets))

    cdef bint may_know(self, uint64_t key) noexcept nogil:
        """False if no feature behind this gate can be known."""
        cdef uint64_t bits = filter_bits(key)
        return self.filter[filter_word(key) & self.filter_mask] & bits == bits

    cdef const Place *find(self, uint64_t key) noexcept nogil:
        """The place of a feature; NULL if the model does not know it."""
        cdef uint64_t bucket = bucket_of(key, self.buckets), looked
        cdef uint32_t fingerprint = fingerprint_of(key)
        cdef const Place *place
        cdef int p
        for looked in range(self.buckets):
            place = self.places + PLACES * bucket
            for p in range(PLACES):
                if place[p].fingerprint == fingerprint:
                    return place + p
            if place[PLACES - 1].fingerprint == 0:
                return NULL
            bucket += 1                                 # a full bucket flows over into the next
            if bucket == self.buckets:
                bucket = 0
        return NULL

    cdef void prefetch_row(self, const Place *place) noexcept nogil:
        if place.pairs[0].number == ROW:
            covington_prefetch(self.rows + (<const uint32_t *>place)[2])

    cdef void add(self, const Place *place, int32_t *scores) noexcept nogil:
        """Add the weights of a feature to the scores, which have `width` places."""
        cdef int e, length, mask = self.width - 1
        cdef uint64_t start
        cdef const Pair *pairs = &place.pairs[0]
        if pairs[0].number != ROW:
            for e in range(PAIRS):                      # pairs that are not needed add 0
                scores[pairs[e].number & mask] += pairs[e].weight
            return
        length = <uint16_t>pairs[0].weight
        start = (<const uint32_t *>place)[2]
        if length == 0:
            if start + (self.classes + 1) // 2 <= self.rows_length:
                covington_add_row(scores, <const int16_t *>(self.rows + start), self.classes)
        elif start + length <= self.rows_length:
            pairs = self.rows + start
            for e in range(length):
                scores[pairs[e].number & mask] += pairs[e].weight


def lay_out(int classes, const uint64_t[::1] keys, const int64_t[::1] ends, const uint16_t[::1] numbers,
            const int16_t[::1] weights):
    """The table and the rows of FrozenWeights, from sorted rows; weights of 0 are left out.

    Long rows belong to common features. They come first, in the table and among the rows, so that what is needed
    often lies together.
    """
    cdef int64_t row, at, first, place_row, used = 0, length, rows_length = 0, dense = (classes + 1) // 2
    cdef uint64_t bucket, buckets
    cdef int p, e
    cdef int64_t[::1] lengths = np.zeros(keys.shape[0], dtype=np.int64)
    first = 0
    for row in range(keys.shape[0]):
        for at in range(first, ends[row]):
            lengths[row] += weights[at] != 0
        first = ends[row]
        used += lengths[row] > 0
        if lengths[row] > PAIRS:
            rows_length += min(lengths[row], dense)
    buckets = max(1, (used + PLACES - 2) // (PLACES - 1))      # three of four places taken
    cdef uint32_t[:, ::1] table = np.zeros((buckets * PLACES, 4), dtype=np.uint32)
    cdef uint32_t[::1] rows = np.zeros(rows_length, dtype=np.uint32)
    cdef int64_t[::1] order = np.argsort(-np.asarray(lengths), kind="stable")
    cdef Place *place
    cdef Pair *pairs
    cdef int16_t *full = NULL
    rows_length = 0
    for place_row in range(used):
        row = order[place_row]
        length = lengths[row]
        bucket = bucket_of(keys[row], buckets)
        while True:
            place = <Place *>&table[bucket * PLACES, 0]
            p = 0
            while p < PLACES and place[p].fingerprint != 0:
                p += 1
            if p < PLACES:
                break
            bucket = (bucket + 1) % buckets
        place += p
        place.fingerprint = fingerprint_of(keys[row])
        pairs = place.pairs
        if length > PAIRS:
            pairs[0].number = ROW
            pairs[0].weight = <int16_t>(length if length < dense else 0)
            (<uint32_t *>pairs)[1] = <uint32_t>rows_length
            pairs = <Pair *>&rows[rows_length]
            full = <int16_t *>pairs
            rows_length += min(length, dense)
        e = 0
        for at in range(ends[row - 1] if row else 0, ends[row]):
            if weights[at] == 0:
                continue
            if length > PAIRS and length >= dense:
                full[numbers[at]] = weights[at]
            else:
                pairs[e].number = numbers[at]
                pairs[e].weight = weights[at]
                e += 1
    return {"places": np.asarray(table), "rows": np.asarray(rows)}

"""Laying out frozen weights when a model is saved, and checking their shape when it is loaded."""

from libc.stdint cimport int16_t, int64_t, uint16_t, uint32_t, uint64_t

from covington.kernels cimport CHUNK

import numpy as np

from covington.errors import ModelError

cdef enum:
    BUCKET = 16             # 32-bit numbers in a bucket
    FILTERED = 16           # rare features that the filter of one bucket can tell from others well enough
    ENOUGH = 10             # a row with weights for one class in ten or more is dense


cdef class FrozenWeights:
    """Read-only weights over arrays of a model file."""

    def __cinit__(self, int classes, const uint32_t[:, ::1] common, const int16_t[:, ::1] dense,
                  const uint32_t[::1] sparse, const uint32_t[:, ::1] rare, const uint64_t[::1] gate_filter):
        if not 4 <= classes <= 65534:
            raise ModelError(f"a model with {classes} classes cannot be used")
        for name, buckets, width in (
            ("common", common.shape[0], common.shape[1]), ("rare", rare.shape[0], rare.shape[1])
        ):
            if not 1 <= buckets < 1 << 32 or width != BUCKET:
                raise ModelError(f"the table of {name} features does not have its shape")
        if gate_filter.shape[0] < 1 or gate_filter.shape[0] & (gate_filter.shape[0] - 1):
            raise ModelError("the filter for gates does not have its shape")
        self.classes = classes
        self.width = width_of(classes)
        if dense.shape[1] != self.width:
            raise ModelError("the dense rows do not have their shape")
        self.owner = (common, dense, sparse, rare, gate_filter)
        self.tables = Tables(
            <const CommonBucket *>&common[0, 0], common.shape[0],
            <const RareBucket *>&rare[0, 0], rare.shape[0],
            NULL, dense.shape[0], NULL, sparse.shape[0], self.width,
            &gate_filter[0], gate_filter.shape[0] - 1,
        )
        if dense.shape[0]:
            self.tables.dense = &dense[0, 0]
        if sparse.shape[0]:
            self.tables.sparse = <const Pair *>&sparse[0]


cdef int width_of(int classes) noexcept:
    return (classes + CHUNK - 1) // CHUNK * CHUNK


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


cdef (uint64_t, int) take_place(uint32_t[:, ::1] table, uint64_t key, int places) except *:
    """Bucket and place of the first free place for a key, with its fingerprint written."""
    cdef uint64_t buckets = table.shape[0], bucket = bucket_of(key, buckets), looked
    cdef int place
    for looked in range(min(buckets, <uint64_t>FARTHEST_BUCKET)):
        for place in range(places):
            if table[bucket, place] == 0:
                table[bucket, place] = fingerprint_of(key)
                return bucket, place
        bucket = (bucket + 1) % buckets
    raise Crowded


def lay_out(int classes, const uint64_t[::1] keys, const int64_t[::1] ends, const uint16_t[::1] numbers,
            const int16_t[::1] weights):
    """The tables of FrozenWeights, from rows sorted by key and class; weights of 0 are left out."""
    for spare in (1.0, 1.5, 2.0, 4.0):
        try:
            return _lay_out(classes, keys, ends, numbers, weights, spare)
        except Crowded:
            continue
    raise ModelError("the features crowd together in the table: train with another seed")


def _lay_out(int classes, const uint64_t[::1] keys, const int64_t[::1] ends, const uint16_t[::1] numbers,
             const int16_t[::1] weights, double spare):
    """The tables, with so many times the room that is usually enough.

    Long rows belong to common features and come first, so that what is needed often lies together.
    """
    cdef int64_t row, at, first = 0, ranked, length, dense_rows = 0, sparse_length = 0, common = 0, rare = 0
    cdef int width = width_of(classes)
    cdef int64_t[::1] lengths = np.zeros(keys.shape[0], dtype=np.int64)
    for row in range(keys.shape[0]):
        for at in range(first, ends[row]):
            lengths[row] += weights[at] != 0
        first = ends[row]
        if lengths[row] > PAIRS:
            common += 1
            if ENOUGH * lengths[row] >= classes:
                dense_rows += 1
            else:
                sparse_length += 1 + lengths[row]
        elif lengths[row] > 0:
            rare += 1
    if sparse_length >= DENSE or dense_rows >= DENSE:
        raise ModelError("the model is too large: prune it")
    cdef uint32_t[:, ::1] common_table = _empty_table(spare * max(common / (0.75 * COMMON_PLACES), <double>rare / FILTERED))
    cdef uint32_t[:, ::1] rare_table = _empty_table(spare * rare / (0.9 * RARE_PLACES))
    cdef int16_t[:, ::1] dense = np.zeros((dense_rows, width), dtype=np.int16)
    cdef uint32_t[::1] sparse = np.zeros(sparse_length, dtype=np.uint32)
    cdef int64_t[::1] order = np.argsort(-np.asarray(lengths), kind="stable")
    cdef uint64_t bucket
    cdef int place
    dense_rows = sparse_length = 0
    for ranked in range(common + rare):
        row = order[ranked]
        first = ends[row - 1] if row else 0
        length = lengths[row]
        if length <= PAIRS:
            bucket, place = take_place(rare_table, keys[row], RARE_PLACES)
            write_pairs(<Pair *>&rare_table[bucket, RARE_PLACES + PAIRS * place], numbers, weights, first, ends[row])
            bucket = bucket_of(keys[row], common_table.shape[0])
            (<CommonBucket *>&common_table[bucket, 0]).filter |= rare_bits(keys[row])
            continue
        bucket, place = take_place(common_table, keys[row], COMMON_PLACES)
        if ENOUGH * length >= classes:
            common_table[bucket, COMMON_PLACES + place] = DENSE | <uint32_t>dense_rows
            for at in range(first, ends[row]):
                dense[dense_rows, numbers[at]] = weights[at]
            dense_rows += 1
        else:
            common_table[bucket, COMMON_PLACES + place] = <uint32_t>sparse_length
            sparse[sparse_length] = <uint32_t>length
            write_pairs(<Pair *>&sparse[sparse_length] + 1, numbers, weights, first, ends[row])
            sparse_length += 1 + length
    return {
        "common": np.asarray(common_table), "dense": np.asarray(dense), "sparse": np.asarray(sparse),
        "rare": np.asarray(rare_table),
    }


cdef void write_pairs(Pair *pairs, const uint16_t[::1] numbers, const int16_t[::1] weights, int64_t first,
                      int64_t last) noexcept:
    cdef int64_t at
    for at in range(first, last):
        if weights[at] != 0:
            pairs[0] = Pair(numbers[at], weights[at])
            pairs += 1


def _empty_table(double buckets):
    return np.zeros((max(1, int(np.ceil(buckets))), BUCKET), dtype=np.uint32)

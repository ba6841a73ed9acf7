"""Weights of a finished model: read-only, compact, laid out for the cache and mapped straight from the file.

Few features are common and many are rare, so there are two tables, both of 64-byte buckets. The *common* one has
eight places of 8 bytes: 32 bits of the key and where the feature's row of weights starts. The *rare* one, for features
of up to three weights, has four places of 16 bytes that hold the weights themselves. A Bloom filter stands before the
rare table, which is large: a feature that the model does not know, as most in new text, costs no look into it.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint16_t, uint32_t, uint64_t

cdef enum:
    COMMON_PLACES = 8       # per bucket
    RARE_PLACES = 4
    PAIRS = 3               # in a rare place
    FARTHEST_BUCKET = 256   # a feature is never further from its own bucket: no table can make a look-up long
    CHUNK = 16              # classes whose weights are added at once
    CHUNK_PAIRS = 9         # the room of a chunk in a row: its number and its weights
    ENOUGH = 4              # weights that make a chunk worth its room


cdef struct Pair:
    uint16_t number
    int16_t weight


cdef struct CommonPlace:
    uint32_t fingerprint    # 0 is an empty place
    uint32_t start          # of its row: a Pair with the number of chunks and of pairs, the chunks, the pairs


cdef struct RarePlace:
    uint32_t fingerprint
    Pair pairs[PAIRS]       # those that are not needed add 0


# What is known of a feature between the turns of a look-up.
cdef struct Found:
    const Pair *row         # of a common feature
    const RarePlace *bucket # where a rare one would be
    uint32_t fingerprint


# The methods are the stages of a look-up: `call`, `find`, `add`. A caller who has other work to do between them
# (decoder.pyx) never waits for memory.
cdef class FrozenWeights:
    cdef object owner               # keeps the memory map alive
    cdef const CommonPlace *common
    cdef uint64_t common_buckets
    cdef const RarePlace *rare
    cdef uint64_t rare_buckets
    cdef const Pair *rows
    cdef uint64_t rows_length
    cdef const uint64_t *rare_filter
    cdef uint64_t rare_mask
    cdef const uint64_t *gate_filter    # all pairs of words that were met in training
    cdef uint64_t gate_mask
    cdef readonly int classes
    cdef readonly int width         # classes rounded up to a power of two: a class number masked by it is safe

    cdef bint may_know(self, uint64_t key) noexcept nogil
    cdef void call(self, uint64_t key) noexcept nogil
    cdef bint find(self, uint64_t key, Found *found) noexcept nogil
    cdef void add(self, const Found *found, int32_t *scores) noexcept nogil

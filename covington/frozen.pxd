"""Weights of a finished model: read-only, compact, laid out for the cache and mapped straight from the file.

A feature is found in a table of 64-byte buckets with four places of 16 bytes. A place holds 32 bits of the key and
up to three (class, weight) pairs, which is all there is for most features: one cache line and no second look-up.
A feature with more weights has a row elsewhere: a list of pairs, or one weight per class where most are set.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint16_t, uint32_t, uint64_t

cdef enum:
    PLACES = 4              # per bucket
    PAIRS = 3               # in a place
    ROW = 0xFFFF            # instead of the first class: the weights are in a row


cdef struct Pair:
    uint16_t number
    int16_t weight


cdef struct Place:
    uint32_t fingerprint    # 0 is an empty place
    Pair pairs[PAIRS]       # or ROW with the length (0: dense), then where it starts


# The methods are the stages of a look-up: `prefetch_bucket`, `find`, `prefetch_row`, `add`. A caller who has other
# work to do between them (decoder.pyx) never waits for memory.
cdef class FrozenWeights:
    cdef object owner               # keeps the memory map alive
    cdef const Place *places
    cdef uint64_t buckets
    cdef const Pair *rows
    cdef uint64_t rows_length
    cdef const uint64_t *filter     # a Bloom filter of all pairs of words that were met in training
    cdef uint64_t filter_mask
    cdef readonly int classes
    cdef readonly int width         # classes rounded up to a power of two: a class number masked by it is safe

    cdef bint may_know(self, uint64_t key) noexcept nogil
    cdef const Place *find(self, uint64_t key) noexcept nogil
    cdef void prefetch_bucket(self, uint64_t key) noexcept nogil
    cdef void prefetch_row(self, const Place *place) noexcept nogil
    cdef void add(self, const Place *place, int32_t *scores) noexcept nogil

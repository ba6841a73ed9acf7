"""Weights of a finished model: read-only, compact, laid out for the cache and mapped straight from the file.

Few features are common and many are rare, so there are two tables of 64-byte buckets. A bucket of the *common* one has
seven fingerprints (32 bits of the key) and where the weights of these features are: a *dense* row with one for every
class, or a *sparse* row of pairs (class, weight). A bucket of the *rare* table, for features of up to three weights, has
four fingerprints and the weights themselves. It is large, so a small Bloom filter in the common bucket of a key says
whether there is any use in looking for it there: a feature that the model does not know costs one line of the cache.

A look-up has three stages, `call`, `find` and `open_row`: a caller who has other work to do between them (decoder.pyx)
never waits for memory.
"""

from libc.stdint cimport int16_t, uint32_t, uint64_t

from covington.kernels cimport Pair, Sparse, match, prefetch

cdef enum:
    COMMON_PLACES = 7       # per bucket
    RARE_PLACES = 4
    PAIRS = 3               # in a rare place
    DENSE = 0x80000000      # with this bit the number of a dense row, without it the start of a sparse one
    FARTHEST_BUCKET = 256   # a feature is never further from its own bucket: no table can make a look-up long


cdef struct CommonBucket:
    uint32_t fingerprints[COMMON_PLACES]    # 0 is an empty place
    uint32_t rows[COMMON_PLACES]            # see DENSE
    uint64_t filter                         # of the rare features whose common bucket this would be


cdef struct RareBucket:
    uint32_t fingerprints[RARE_PLACES]
    Pair pairs[RARE_PLACES][PAIRS]          # those that are not needed add 0


cdef struct Tables:
    const CommonBucket *common
    uint64_t common_buckets
    const RareBucket *rare
    uint64_t rare_buckets
    const int16_t *dense
    uint64_t dense_rows
    const Pair *sparse                      # of every row: how many pairs, in 32 bits, then the pairs
    uint64_t sparse_length
    int width                               # of a dense row
    const uint64_t *gate_filter             # all pairs of words that were met in training
    uint64_t gate_mask


cdef class FrozenWeights:
    cdef object owner               # keeps the memory map alive
    cdef Tables tables
    cdef readonly int classes
    cdef readonly int width         # of a dense row: the classes rounded up to whole chunks


cdef inline uint64_t bucket_of(uint64_t key, uint64_t buckets) noexcept nogil:
    return ((key >> 32) * buckets) >> 32


cdef inline uint32_t fingerprint_of(uint64_t key) noexcept nogil:
    return <uint32_t>key            # never 0: the low bits are the number of the template


cdef inline uint64_t rare_bits(uint64_t key) noexcept nogil:
    """Two bits of a bucket's filter."""
    return (<uint64_t>1 << (key >> 8 & 63)) | (<uint64_t>1 << (key >> 14 & 63))


cdef inline uint64_t gate_word(uint64_t key) noexcept nogil:
    return key >> 26


cdef inline uint64_t gate_bits(uint64_t key) noexcept nogil:
    """Three bits of one word of the filter for gates."""
    return rare_bits(key) | (<uint64_t>1 << (key >> 20 & 63))


cdef inline bint may_know(const Tables *tables, uint64_t key) noexcept nogil:
    """False if no feature behind this gate can be known."""
    cdef uint64_t bits = gate_bits(key)
    return tables.gate_filter[gate_word(key) & tables.gate_mask] & bits == bits


cdef inline void call(const Tables *tables, uint64_t key) noexcept nogil:
    """Begin to fetch what `find` will look at."""
    prefetch(tables.common + bucket_of(key, tables.common_buckets))


cdef enum Kind:
    UNKNOWN = 0
    IN_DENSE = 1
    IN_SPARSE = 2
    MAYBE_RARE = 3


# Where a feature was found.
cdef struct Found:
    Kind kind
    uint32_t fingerprint
    const void *row         # dense, sparse, or the bucket of a rare one


cdef inline Found find(const Tables *tables, uint64_t key) noexcept nogil:
    """Find a feature, and begin to fetch its weights."""
    cdef uint64_t bucket = bucket_of(key, tables.common_buckets), bits = rare_bits(key)
    cdef bint may_be_rare = tables.common[bucket].filter & bits == bits
    cdef uint32_t fingerprint = fingerprint_of(key), row
    cdef Found found = Found(UNKNOWN, fingerprint, NULL)
    cdef int place, looked
    for looked in range(FARTHEST_BUCKET):
        place = match(tables.common[bucket].fingerprints, fingerprint)
        if place < COMMON_PLACES:
            row = tables.common[bucket].rows[place]
            if row & DENSE:
                row ^= DENSE
                if row < tables.dense_rows:
                    found.kind = IN_DENSE
                    found.row = tables.dense + <uint64_t>row * tables.width
                    prefetch(found.row)
            elif row < tables.sparse_length:
                found.kind = IN_SPARSE
                found.row = tables.sparse + row
                prefetch(found.row)
            return found
        if tables.common[bucket].fingerprints[COMMON_PLACES - 1] == 0:
            break
        bucket += 1                                     # a full bucket flows over into the next
        if bucket == tables.common_buckets:
            bucket = 0
    if may_be_rare:
        found.kind = MAYBE_RARE
        found.row = tables.rare + bucket_of(key, tables.rare_buckets)
        prefetch(found.row)
    return found


cdef inline bint open_row(const Tables *tables, const Found *found, Sparse *row) noexcept nogil:
    """The pairs of a feature that is not dense; False if it is not there after all."""
    cdef const RareBucket *bucket
    cdef int place, looked
    if found.kind == IN_SPARSE:
        row.count = (<const uint32_t *>found.row)[0]
        row.pairs = <const Pair *>found.row + 1
        return row.count < tables.sparse + tables.sparse_length - <const Pair *>found.row   # else it is forged
    bucket = <const RareBucket *>found.row
    for looked in range(FARTHEST_BUCKET):
        for place in range(RARE_PLACES):
            if bucket.fingerprints[place] == found.fingerprint:
                row.pairs = bucket.pairs[place]
                row.count = PAIRS
                return True
        if bucket.fingerprints[RARE_PLACES - 1] == 0:
            return False
        bucket += 1
        if bucket == tables.rare + tables.rare_buckets:
            bucket = tables.rare
    return False

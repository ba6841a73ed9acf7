"""Weights of a finished model: read-only, compact, laid out for the cache as they lie in the file.

Few features are common and many are rare, so there are two tables of 64-byte buckets. A bucket of the *common* one has
seven fingerprints (31 bits of the key) and where the weights of these features are: in a *dense* row with one for every
column, or in a *sparse* row of pairs (column, weight). A bucket of the *rare* table, for features of up to four small
weights, has five fingerprints and the weights themselves. It is large, so a small Bloom filter in the common bucket of a
key says whether there is any use in looking for it there: a feature that the model does not know costs one line of the
cache.

Time goes into how many lines and pages of memory are touched, more than into what is done with them. So rows touch as few
lines as they can, and the longest, which are the most common, lie together; the common buckets of a template lie
together too, because a template of few features is asked for the same ones again and again; and what does not fit into
its own bucket goes to its neighbour.

A look-up has three stages, `call`, `find` and the sum of what was found: a caller who has other work to do between them
(linear.pyx) never waits for memory. Nothing is checked on the way: frozen.pyx has followed every row when the model was
loaded.

A column is a class that can win. A dependency is often met to one side only, and a place in every row for the other side
would be one for nothing: of the arcs to one side that no feature has a weight for, only the first has a column.
"""

from libc.stdint cimport int16_t, int64_t, uint16_t, uint32_t, uint64_t

from covington.transition.classes cimport ClassTable
from covington.transition.system cimport MAX_TRANSITIONS
from covington.scorers.kernels cimport Pair, SmallPair, add_small, add_sparse, match, prefetch, sum_rows
from covington.features.program cimport NUMBER_BITS
from covington.transition.configuration cimport TRANSITION_COUNT

cdef enum:
    COMMON_PLACES = 7       # per bucket
    RARE_PLACES = 5
    PAIRS = 4               # in a rare place
    NUMBERS = NUMBER_BITS + 1   # of templates: the low bits of a key
    NEIGHBOURS = 64         # buckets that a feature may be in, one page: no table can make a look-up long
    ROW_UNIT = 16           # bytes; a row begins at a multiple of it
    DENSE = 0x80000000      # set with where a dense row begins, in units; a sparse one has the place alone
    LINE = 64               # bytes in a line of the cache


cdef struct CommonBucket:
    uint32_t fingerprints[COMMON_PLACES]    # 0 is an empty place
    uint32_t rows[COMMON_PLACES]            # see DENSE
    uint64_t filter                         # of the rare features whose common bucket this would be


cdef struct RareBucket:
    uint32_t fingerprints[RARE_PLACES]
    SmallPair pairs[RARE_PLACES][PAIRS]     # those that are not needed add 0
    uint32_t unused


# Some buckets of the common table.
cdef struct Region:
    uint32_t first
    uint32_t buckets


cdef struct Tables:
    const CommonBucket *common
    uint64_t common_buckets
    Region regions[NUMBERS]                 # of the templates
    const RareBucket *rare
    uint64_t rare_buckets
    const char *rows                        # dense ones, and sparse ones: how many pairs, as the number of a pair, then the
                                            # pairs, filled up to whole units with some that add 0
    const uint64_t *gate_filter             # all pairs of words that were met in training
    uint64_t gate_mask
    bint is_wide                            # has a dense row more than three lines?


cdef class FrozenWeights:
    cdef char *memory
    cdef Tables tables
    cdef ClassTable table
    cdef const uint16_t[::1] classes    # by column
    cdef int first_column[MAX_TRANSITIONS + 2]      # of each transition, then of repairs, then the end
    cdef readonly int columns
    cdef readonly int width             # of a dense row: the columns rounded up to whole chunks
    cdef take_regions(self, const uint32_t[:, ::1] regions)
    cdef take_classes(self, classes, sizes)

    cdef inline int repair_column(self, int transition) noexcept nogil:
        """The column of a labelled transition where it takes another arc away."""
        return self.first_column[self.table.transitions] + transition - self.table.unlabelled


cdef inline uint64_t bucket_of(uint64_t key, uint64_t buckets) noexcept nogil:
    return ((key >> 32) * buckets) >> 32


cdef inline uint64_t common_bucket_of(uint64_t key, const Region *regions) noexcept nogil:
    cdef const Region *region = &regions[key & (NUMBERS - 1)]
    return region.first + bucket_of(key, region.buckets)


cdef inline uint64_t neighbour(uint64_t home, uint64_t step) noexcept nogil:
    """Where a feature is, if its own bucket is full and so are those of the steps before. The first is the other half of
    the same 128 bytes, which processors like to fetch together."""
    return home ^ step


cdef inline uint32_t fingerprint_of(uint64_t key) noexcept nogil:
    """Bits that do not say which template it is, and hardly which bucket; never 0."""
    return <uint32_t>(key >> 8) | 1


cdef inline uint64_t rare_bits(uint64_t key) noexcept nogil:
    """Two bits of a bucket's filter."""
    return (<uint64_t>1 << (key >> 8 & 63)) | (<uint64_t>1 << (key >> 14 & 63))


cdef inline uint64_t gate_word(uint64_t key) noexcept nogil:
    return key >> 26


cdef inline uint64_t gate_bits(uint64_t key) noexcept nogil:
    """Three bits of one word of the filter for gates."""
    return rare_bits(key) | (<uint64_t>1 << (key >> 20 & 63))


cdef inline void call_gate(const Tables *tables, uint64_t key) noexcept nogil:
    """Begin to fetch what `may_know` will look at."""
    prefetch(tables.gate_filter + (gate_word(key) & tables.gate_mask))


cdef inline bint may_know(const Tables *tables, uint64_t key) noexcept nogil:
    """False if no feature behind this gate can be known."""
    cdef uint64_t bits = gate_bits(key)
    return tables.gate_filter[gate_word(key) & tables.gate_mask] & bits == bits


cdef inline const CommonBucket *call(const Tables *tables, uint64_t key) noexcept nogil:
    """Begin to fetch the bucket of a feature."""
    cdef const CommonBucket *home = tables.common + common_bucket_of(key, tables.regions)
    prefetch(home)
    return home


cdef inline void fetch_row(const Tables *tables, const char *row, bint is_dense) noexcept nogil:
    """Begin to fetch a row; the processor sees by itself how a very long one goes on. Nothing to guess wrong."""
    cdef int64_t line = LINE & -<int64_t>is_dense
    prefetch(row)
    prefetch(row + line)
    prefetch(row + 2 * line)
    if tables.is_wide:
        prefetch(row + 3 * line)


# A feature that may be in the rare table.
cdef struct Rare:
    uint32_t home
    uint32_t fingerprint


# Lists of what was found, one for each kind; they grow at these ends.
cdef struct Found:
    const int16_t **dense
    const Pair **sparse
    Rare *rare


cdef inline int look(const CommonBucket *home, uint64_t key) noexcept nogil:
    """Where a feature is in its own bucket, or COMMON_PLACES and more."""
    return match(<const uint32_t *>home, fingerprint_of(key))


cdef inline void find(const Tables *tables, const CommonBucket *home, uint64_t key, int place, Found *found) noexcept nogil:
    """Find a feature after a `look`, and begin to fetch its weights."""
    cdef const CommonBucket *bucket = home
    cdef const char *row
    cdef bint is_dense
    cdef int looked = 1
    while place >= COMMON_PLACES and bucket.fingerprints[COMMON_PLACES - 1] != 0 and looked < NEIGHBOURS:
        bucket = tables.common + neighbour(home - tables.common, looked)
        place = match(<const uint32_t *>bucket, fingerprint_of(key))
        looked += 1
    if place < COMMON_PLACES:
        row = tables.rows + <uint64_t>(bucket.rows[place] & ~<uint32_t>DENSE) * ROW_UNIT
        is_dense = bucket.rows[place] >> 31
        fetch_row(tables, row, is_dense)
        found.dense[0] = <const int16_t *>row           # into both lists, of which one grows: nothing to guess wrong
        found.sparse[0] = <const Pair *>row
        found.dense += is_dense
        found.sparse += 1 - is_dense
    elif home.filter & rare_bits(key) == rare_bits(key):
        found.rare[0] = Rare(<uint32_t>bucket_of(key, tables.rare_buckets), fingerprint_of(key))
        prefetch(tables.rare + found.rare[0].home)
        found.rare += 1


cdef inline const SmallPair *open_rare(const Tables *tables, const Rare *rare) noexcept nogil:
    """The pairs of a rare feature; NULL if it is not there after all."""
    cdef const RareBucket *bucket
    cdef int place, looked
    for looked in range(NEIGHBOURS):
        bucket = tables.rare + neighbour(rare.home, looked)
        place = match(<const uint32_t *>bucket, rare.fingerprint)
        if place < RARE_PLACES:
            return bucket.pairs[place]
        if bucket.fingerprints[RARE_PLACES - 1] == 0:
            return NULL
    return NULL


cdef inline void add_up(const Tables *tables, const int16_t **rows, const Found *first, const Found *last, int16_t *scores,
                        int width) noexcept nogil:
    """The sum of dense rows, from these to the last that was found, and of all others from the first to the last."""
    cdef const Pair **sparse = first.sparse
    cdef const Rare *rare = first.rare
    cdef const SmallPair *pairs
    sum_rows(scores, rows, <int>(last.dense - rows), width)
    while sparse < last.sparse:
        add_sparse(scores, sparse[0])
        sparse += 1
    while rare < last.rare:
        pairs = open_rare(tables, rare)
        if pairs != NULL:
            add_small(scores, pairs, PAIRS)
        rare += 1

"""The innermost loops of the parser; kernels.h explains them."""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

cdef extern from "covington/scorers/kernels.h" nogil:
    enum:
        CHUNK "COVINGTON_CHUNK"

    ctypedef struct Pair "CovingtonPair":
        uint16_t number
        int16_t weight

    ctypedef struct SmallPair "CovingtonSmallPair":
        uint8_t number
        int8_t weight

    void *allocate "covington_allocate" (size_t size)
    void prefetch "covington_prefetch" (const void *address)
    int match "covington_match" (const uint32_t *numbers, uint32_t wanted)
    void sum_rows "covington_sum" (int16_t *total, const int16_t *const *rows, int count, int length)
    void add_small "covington_add_small" (int16_t *scores, const SmallPair *pairs, int count)
    void add_sparse "covington_add_sparse" (int16_t *scores, const Pair *row)
    void add_full "covington_add_full" (int64_t *scores, const int32_t *const *rows, int count, int classes)
    int count_equal "covington_equal" (const uint64_t *some, const uint64_t *others, int count)
    int16_t largest_of "covington_largest" (const int16_t *scores, int count)

"""A network's integers, as the loops read them."""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t

from covington.transition.system cimport System
from covington.network.words cimport FormTable

cdef extern from "kernels/integer_kernels.h":
    enum:
        INT_ROWS, MAX_SLOT
    const float MAX_GATE
    ctypedef struct int_matrix:
        int64_t k, n
        const int8_t *weights
        const int32_t *sums
        const float *scales
    ctypedef struct integer_kernels:
        const char *name
        void (*dots)(const int8_t *, int64_t, int64_t, const int_matrix *, int32_t *, int64_t) nogil
        float (*quantise)(const float *, int64_t, int8_t *) nogil
        void (*reals)(const int32_t *, float, const float *, const float *, int64_t, float *) nogil
        void (*fixed)(const int32_t *, float, const float *, const int32_t *, float, const float *, const float *, float,
                      int64_t, int16_t *) nogil
        void (*cells)(int64_t, const int16_t *, const int32_t *, const float *, float *, int8_t *) nogil
        void (*softmax)(float *, const int32_t *, int64_t, int8_t *) nogil
        void (*embed)(const int8_t *, const int32_t *, int64_t, int64_t, const float *, float *) nogil
        void (*hidden)(const int16_t *const *, int64_t, int64_t, int16_t *) nogil
        int32_t (*dot)(const int16_t *, const int16_t *, int64_t) nogil
        void (*label_scores)(const int16_t *, const int16_t *, int64_t, int64_t, int32_t *) nogil
    const integer_kernels *choose_integer_kernels(const char *name) nogil

cdef enum:
    BLOCK = 8                       # INT_ROWS, which a loop can step by
    MARGINS = 64                    # of the best action over the second, as the table of confidence has them


# Everything that the loops read.
cdef struct Integers:
    const integer_kernels *kernels
    int_matrix first_input
    int_matrix tag_weights
    int_matrix tag_table
    int_matrix second_state
    int_matrix second_tag
    int_matrix bottleneck
    int_matrix projections
    int_matrix first[2]
    int_matrix second[2]
    const float *first_bias
    const float *tag_bias
    const float *second_bias
    const float *bottleneck_bias
    const int8_t *forms
    const float *forms_scale
    const int8_t *subwords
    const float *subwords_scale
    const int16_t *slot_tables
    const int16_t *label_tables
    const int16_t *action_weights
    float margin_unit               # what 1 of a margin of scores is in the confidence table
    const float *confidence         # [MARGINS]
    const int32_t *action_bias
    const int16_t *label_weights
    const int32_t *label_bias
    const int32_t *group_ends
    int64_t groups, buckets, form, subword, state, tag, tags, squeezed, slot, label, labels, label_columns
    int root_label


cdef class Weights:
    """A network's integers, shared by all threads."""
    cdef Integers net
    cdef object kept                # what its pointers point into
    cdef readonly FormTable forms_table
    cdef System system

    cdef const void *at(self, name) except NULL
    cdef int set_matrix(self, name, int_matrix *matrix) except -1

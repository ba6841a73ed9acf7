"""The kernels of training, as compiled code calls them."""

from libc.stdint cimport int32_t, int64_t

cdef extern from "kernels/float_kernels.h":
    ctypedef struct float_kernels:
        const char *name
        int columns
        void (*pack)(const float *, int64_t, int64_t, int64_t, int64_t, float *) nogil
        void (*multiply)(const float *, int64_t, int64_t, const float *, float *, int64_t, int64_t, int64_t, int64_t,
                         int) nogil
        void (*cell_forward)(int64_t, float *, const float *, float *, float *) nogil
        void (*cell_backward)(int64_t, const float *, const float *, const float *, const float *, float *,
                              float *) nogil
        void (*softmax)(const float *, int64_t, float *) nogil
        void (*add_row)(float *, const float *, int64_t) nogil
        void (*add_scaled)(float *, const float *, float, int64_t) nogil
        float (*dot)(const float *, const float *, int64_t) nogil
        double (*squares)(const float *, int64_t) nogil
        void (*adam)(float *, float *, float *, const float *, int64_t, float, float, float, float) nogil
    const float_kernels *choose_float_kernels(const char *name) nogil


cdef class Floats:
    cdef const float_kernels *kernels
    cdef float *packed
    cdef Py_ssize_t capacity

    cdef int reserve(self, Py_ssize_t count) except -1
    cdef int pack(self, const float[:, :] b) except -1
    cdef int check_lstm(self, const float[:, :] gates, const float[:, :] recurrent, const int64_t[::1] starts,
                        const float[:, :] cell, const float[:, :] state) except -1

"""Arrow arrays seen from compiled code: pointers that were checked before anybody follows them."""

from libc.stdint cimport int32_t, uint8_t


cdef struct StringView:
    const int32_t* offsets
    const char* data
    const uint8_t* valid  # NULL when every value is
    Py_ssize_t valid_from  # the bit of the first value
    Py_ssize_t length


cdef struct ListView:
    const int32_t* offsets  # into the values
    const uint8_t* valid
    Py_ssize_t valid_from
    Py_ssize_t length
    Py_ssize_t values  # how many there are


cdef int view_strings(object array, StringView* view) except -1
cdef int view_list(object array, ListView* view) except -1
cdef const uint8_t* view_validity(object array) except? NULL
cdef const void* view_numbers(object array, Py_ssize_t item_size) except? NULL


cdef inline bint is_valid(const uint8_t* valid, Py_ssize_t valid_from, Py_ssize_t place) noexcept nogil:
    return valid == NULL or (valid[(valid_from + place) >> 3] >> ((valid_from + place) & 7)) & 1

"""Arrow arrays seen from compiled code, after checking every offset and length against its buffer."""

from libc.stdint cimport int32_t, uint8_t, uintptr_t

import pyarrow as pa

from covington.errors import DataError


cdef const void* address(object buffer, Py_ssize_t needed) except? NULL:
    """Where the buffer is, if it has the bytes that will be read."""
    if needed == 0 and (buffer is None or buffer.size == 0):
        return NULL
    if buffer is None or <Py_ssize_t>buffer.size < needed:
        raise DataError("an Arrow array is shorter than it says")
    return <const void*><uintptr_t>buffer.address


cdef int check_offsets(const int32_t* offsets, Py_ssize_t length, Py_ssize_t limit) except -1:
    """Offsets must not go down, nor below 0, nor past the end."""
    cdef Py_ssize_t i
    cdef bint wrong
    with nogil:
        wrong = offsets[0] < 0 or offsets[length] > limit
        for i in range(length):
            wrong |= offsets[i + 1] < offsets[i]
    if wrong:
        raise DataError("the offsets of an Arrow array make no sense")
    return 0


cdef const uint8_t* view_validity(object array) except? NULL:
    """The validity bits, or NULL if every value is valid; the first value has bit `array.offset`."""
    cdef Py_ssize_t bits = array.offset + len(array)
    buffer = array.buffers()[0]
    if buffer is None:
        return NULL
    return <const uint8_t*>address(buffer, (bits + 7) >> 3)


cdef const void* view_numbers(object array, Py_ssize_t item_size) except? NULL:
    """The first number of a primitive array."""
    cdef Py_ssize_t offset = array.offset
    cdef const void* numbers = address(array.buffers()[1], (offset + <Py_ssize_t>len(array)) * item_size)
    if numbers == NULL:
        return NULL
    return <const char*>numbers + offset * item_size


cdef const int32_t* offsets_of(object array, object buffer, Py_ssize_t limit) except? NULL:
    cdef Py_ssize_t offset = array.offset, length = len(array)
    cdef const int32_t* offsets
    if length == 0:
        return NULL
    offsets = <const int32_t*>address(buffer, (offset + length + 1) * <Py_ssize_t>sizeof(int32_t)) + offset
    check_offsets(offsets, length, limit)
    return offsets


cdef int view_strings(object array, StringView* view) except -1:
    if array.type != pa.string():
        raise DataError(f"expected strings, found {array.type}")
    buffers = array.buffers()
    view.offsets = offsets_of(array, buffers[1], buffers[2].size if buffers[2] is not None else 0)
    view.data = <const char*>address(buffers[2], 0)
    view.valid = view_validity(array)
    view.valid_from = array.offset
    view.length = len(array)
    return 0


cdef int view_list(object array, ListView* view) except -1:
    if not pa.types.is_list(array.type):
        raise DataError(f"expected lists, found {array.type}")
    view.values = len(array.values)
    view.offsets = offsets_of(array, array.buffers()[1], view.values)
    view.valid = view_validity(array)
    view.valid_from = array.offset
    view.length = len(array)
    return 0

"""Text that is being put together in memory; every function gives 0, or NO_MEMORY."""

from libc.string cimport memcpy

from covington.arrow.buffers cimport SLACK, Block, reserve

cdef enum:
    NO_MEMORY = 1


cdef struct Output:
    Block block
    Py_ssize_t size


cdef inline int put(Output* output, const char* text, Py_ssize_t size) noexcept nogil:
    if reserve(&output.block, output.size + size) < 0:
        return NO_MEMORY
    memcpy(output.block.data + output.size, text, size)
    output.size += size
    return 0


cdef inline int put_within(Output* output, const char* text, Py_ssize_t size, const char* limit) noexcept nogil:
    """The same, faster for short texts with SLACK readable bytes before `limit`: a copy of constant size."""
    if size > SLACK or limit - text < SLACK:
        return put(output, text, size)
    if reserve(&output.block, output.size + SLACK) < 0:
        return NO_MEMORY
    memcpy(output.block.data + output.size, text, SLACK)
    output.size += size
    return 0


cdef inline int put_byte(Output* output, char byte) noexcept nogil:
    if reserve(&output.block, output.size + 1) < 0:
        return NO_MEMORY
    output.block.data[output.size] = byte
    output.size += 1
    return 0


cdef inline int put_number(Output* output, unsigned long value) noexcept nogil:
    cdef char digits[20]
    cdef int place = 20
    while True:
        place -= 1
        digits[place] = <char>(c"0" + value % 10)
        value //= 10
        if value == 0:
            return put(output, &digits[place], 20 - place)

"""Growing buffers in Arrow's layout: offsets, bytes and validity bits, filled without the interpreter."""

from libc.stdint cimport int32_t, uint8_t, uint64_t
from libc.stdlib cimport realloc
from libc.string cimport memcpy

cdef enum:
    SLACK = 16  # bytes past the end that a short copy may touch


cdef struct Block:
    uint8_t* data
    Py_ssize_t capacity  # bytes
    Py_ssize_t expected  # bytes that the last array needed: the next will need about as many


cdef struct Strings:
    Block bytes
    Block offsets  # int32, one more than there are values
    Block valid  # one bit per value
    Py_ssize_t size  # bytes used
    Py_ssize_t count  # values


cdef object buffer_of(Block* block, Py_ssize_t size)
cdef object string_array(Strings* strings, bint nullable)
cdef void release(Block* block) noexcept nogil
cdef void release_strings(Strings* strings) noexcept nogil


cdef inline int reserve(Block* block, Py_ssize_t size) noexcept nogil:
    """Make room for `size` bytes and a little more; -1 when there is no memory."""
    cdef Py_ssize_t capacity
    cdef uint8_t* data
    if size + SLACK <= block.capacity:
        return 0
    capacity = size + (size >> 1) + 1024
    if block.data == NULL and block.expected > capacity:
        capacity = block.expected + (block.expected >> 4)
    data = <uint8_t*>realloc(block.data, capacity)
    if data == NULL:
        return -1
    block.data = data
    block.capacity = capacity
    return 0


cdef inline void set_bit(uint8_t* bits, Py_ssize_t place, bint value) noexcept nogil:
    """Write one bit; later bits of its byte are cleared, so what was rolled back does not shine through."""
    cdef int shift = place & 7
    bits[place >> 3] = <uint8_t>((bits[place >> 3] & ((1 << shift) - 1)) | (value << shift))


cdef inline void copy_short(uint8_t* target, const char* start, Py_ssize_t size, const char* limit) noexcept nogil:
    """Copy into memory with SLACK to spare; most values are short, and a copy of constant size is two moves."""
    if size <= SLACK and limit - start >= SLACK:
        memcpy(target, start, SLACK)
    else:
        memcpy(target, start, size)


cdef inline int append(Strings* strings, const char* start, const char* end, bint valid,
                       const char* limit) noexcept nogil:
    """Append the bytes from start to end (nothing if not valid); `limit` is how far one may read."""
    cdef Py_ssize_t size = (end - start) if valid else 0
    cdef Py_ssize_t count = strings.count
    if (
        reserve(&strings.bytes, strings.size + size) < 0
        or reserve(&strings.offsets, (count + 2) * sizeof(int32_t)) < 0
        or reserve(&strings.valid, (count >> 3) + 1) < 0
    ):
        return -1
    if size:
        copy_short(strings.bytes.data + strings.size, start, size, limit)
    strings.size += size
    strings.count = count + 1
    (<int32_t*>strings.offsets.data)[count + 1] = <int32_t>strings.size
    set_bit(strings.valid.data, count, valid)
    return 0

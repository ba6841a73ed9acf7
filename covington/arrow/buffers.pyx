"""Growing buffers in Arrow's layout, handed to pyarrow without a copy."""

from cpython.buffer cimport PyBuffer_FillInfo
from libc.stdlib cimport free, realloc

import pyarrow as pa


cdef class OwnedMemory:
    """Memory that Arrow may keep for as long as an array needs it."""

    cdef uint8_t* data
    cdef Py_ssize_t size

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        PyBuffer_FillInfo(buffer, self, self.data, self.size, 1, flags)

    def __dealloc__(self):
        free(self.data)


cdef void release(Block* block) noexcept nogil:
    free(block.data)
    block.data = NULL
    block.capacity = 0


cdef void release_strings(Strings* strings) noexcept nogil:
    release(&strings.bytes)
    release(&strings.offsets)
    release(&strings.valid)
    strings.size = strings.count = 0


cdef object buffer_of(Block* block, Py_ssize_t size):
    """The first `size` bytes as an Arrow buffer that owns them; the block is empty afterwards."""
    cdef OwnedMemory memory = OwnedMemory.__new__(OwnedMemory)
    block.expected = size
    cdef uint8_t* smaller
    if size == 0:
        release(block)
        return pa.py_buffer(b"")
    smaller = <uint8_t*>realloc(block.data, size)
    memory.data = block.data if smaller == NULL else smaller
    memory.size = size
    block.data = NULL
    block.capacity = 0
    return pa.py_buffer(memory)


cdef object string_array(Strings* strings, bint nullable):
    """The values as a string array; the buffers are empty afterwards."""
    cdef Py_ssize_t count = strings.count, size = strings.size
    if count == 0:
        release_strings(strings)
        return pa.nulls(0, pa.string())
    (<int32_t*>strings.offsets.data)[0] = 0
    offsets = buffer_of(&strings.offsets, (count + 1) * sizeof(int32_t))
    bytes_ = buffer_of(&strings.bytes, size)
    valid = buffer_of(&strings.valid, (count + 7) >> 3) if nullable else None
    release_strings(strings)
    return pa.StringArray.from_buffers(count, offsets, bytes_, valid)

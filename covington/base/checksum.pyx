"""A 64-bit checksum that keeps up with memory: eight lanes, one multiplication per eight bytes.

Every step of a lane is a bijection of its state, so a change inside any one word always reaches the
result; changes of several words are missed with a chance of about 2**-64. It guards against damage,
not against somebody who forges a file on purpose.
"""

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy, memset

cdef enum:
    LANES = 8
    BLOCK = 64  # bytes: one word for every lane

cdef uint64_t MULTIPLIER = 0x9E3779B97F4A7C15  # odd, bits well spread (the golden ratio)


cdef inline uint64_t rotate(uint64_t value, int bits) noexcept nogil:
    return (value << bits) | (value >> (64 - bits))


cdef inline uint64_t step(uint64_t state, uint64_t word) noexcept nogil:
    return rotate((state ^ word) * MULTIPLIER, 29)


cdef void absorb(uint64_t* lanes, const uint8_t* data, size_t blocks) noexcept nogil:
    """Take in whole blocks; the lanes do not wait for each other, so the processor overlaps them."""
    cdef uint64_t words[LANES]
    cdef uint64_t state[LANES]
    cdef size_t block
    cdef int lane
    memcpy(state, lanes, BLOCK)
    for block in range(blocks):
        memcpy(words, data + block * BLOCK, BLOCK)
        for lane in range(LANES):
            state[lane] = step(state[lane], words[lane])
    memcpy(lanes, state, BLOCK)


cdef class Checksum:
    """The checksum of a sequence of parts, each padded with zeros to a multiple of 64 bytes."""

    cdef uint64_t lanes[LANES]
    cdef uint64_t length  # in blocks

    def __cinit__(self) -> None:
        cdef int lane
        for lane in range(LANES):
            self.lanes[lane] = <uint64_t>(lane + 1) * MULTIPLIER
        self.length = 0

    def update(self, const uint8_t[::1] part) -> None:
        """Take in one part, without holding the interpreter."""
        cdef size_t size = part.shape[0]
        cdef size_t whole = size // BLOCK
        cdef size_t rest = size - whole * BLOCK
        cdef uint8_t tail[BLOCK]
        if size == 0:
            return
        cdef const uint8_t* data = &part[0]
        with nogil:
            absorb(self.lanes, data, whole)
            if rest:
                memset(tail, 0, BLOCK)
                memcpy(tail, data + whole * BLOCK, rest)
                absorb(self.lanes, tail, 1)
        self.length += whole + (1 if rest else 0)

    def hexdigest(self) -> str:
        """Sixteen hexadecimal digits."""
        cdef uint64_t result = self.length
        cdef int lane, turn
        for lane in range(LANES):
            result = step(result, self.lanes[lane])
        for turn in range(2):  # let the last lane reach every bit
            result = step(result ^ (result >> 32), 0)
        return f"{result:016x}"

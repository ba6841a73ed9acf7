"""64-bit mixing: strings, atoms and templates all become numbers here, on every machine the same ones."""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

cdef enum:
    SEED = 0x51ED2701


cdef inline uint64_t mix(uint64_t state, uint64_t value) noexcept nogil:
    """Fold one value into a hash; order matters."""
    state = (state ^ value) * <uint64_t>0x9E3779B97F4A7C15
    return state ^ (state >> 29)


cdef inline uint64_t finish(uint64_t state) noexcept nogil:
    """Spread the entropy over all bits, so that any of them can index a table."""
    state = (state ^ (state >> 32)) * <uint64_t>0xD6E8FEB86659FD93
    return state ^ (state >> 32)


cdef inline uint64_t hash_bytes(const uint8_t *data, int64_t length) noexcept nogil:
    """Hash a string eight bytes at a time."""
    cdef uint64_t state = mix(SEED, <uint64_t>length)
    cdef uint64_t word
    while length >= 8:
        memcpy(&word, data, 8)
        state = mix(state, word)
        data += 8
        length -= 8
    if length > 0:
        word = 0
        memcpy(&word, data, <size_t>length)
        state = mix(state, word)
    return finish(state)

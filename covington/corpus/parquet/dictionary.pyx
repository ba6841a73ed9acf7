"""Looks into the dictionaries of Parquet, where every text of a column stands once."""

from libc.stdint cimport uint32_t
from libc.string cimport memcpy


def longest_text(page) -> int:
    """The bytes of the longest text: each stands behind its length, in four bytes. What goes past the end is none."""
    cdef const unsigned char[::1] view = memoryview(page).cast("B")
    cdef Py_ssize_t at = 0, longest = 0
    cdef uint32_t length = 0
    with nogil:
        while at + 4 <= view.shape[0]:
            memcpy(&length, &view[at], 4)
            at += 4 + <Py_ssize_t>length
            if at <= view.shape[0]:
                longest = max(longest, <Py_ssize_t>length)
    return longest

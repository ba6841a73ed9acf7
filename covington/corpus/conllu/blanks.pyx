"""Finds blank lines, which are where sentences end; below the reader, which knows what is endless."""

from libc.string cimport memchr

from covington.corpus.conllu.text_scan cimport is_blank


def blank_line(data, Py_ssize_t start=0) -> tuple[int, int] | None:
    """The first blank line from `start` on, from the line feed before it to the place after its own."""
    cdef const unsigned char[::1] view = memoryview(data).cast("B")
    cdef const char* bytes_
    cdef const char* end
    cdef const char* before
    cdef const char* feed
    if not 0 <= start < view.shape[0]:
        return None
    bytes_ = <const char*>&view[0]
    end = bytes_ + view.shape[0]
    with nogil:
        before = <const char*>memchr(bytes_ + start, c"\n", end - bytes_ - start)
        feed = before
        while before != NULL:
            feed = <const char*>memchr(before + 1, c"\n", end - before - 1)
            if feed == NULL or is_blank(before + 1, feed):
                break
            before = feed
    return None if feed == NULL else (before - bytes_, feed + 1 - bytes_)

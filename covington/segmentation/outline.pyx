"""Where text can be cut between paragraphs, and what a piece of it counts, so that pieces are numbered as in the whole."""

from libc.stdint cimport int64_t
from libc.string cimport memchr

from covington.characters.tables cimport SPACE, Tables, decode, tables
from covington.segmentation.sentences cimport count_points
from covington.corpus.conllu.text_scan cimport invalid_utf8


cdef bint is_blank(Tables* known, const unsigned char* start, const unsigned char* end) noexcept nogil:
    """Whether a line holds nothing but white space; what is no text is something."""
    cdef int width = 1
    if start < end and (start[0] > 0x20 and start[0] < 0x7F):
        return False  # most lines
    if invalid_utf8(<const char*>start, <const char*>end) != <const char*>end:
        return False
    while start < end:
        if known.classes[decode(start, &width)] != SPACE:
            return False
        start += width
    return True


cdef const unsigned char* end_of_line(const unsigned char* at, const unsigned char* end) noexcept nogil:
    cdef const void* feed = memchr(at, c"\n", end - at)
    return end if feed == NULL else <const unsigned char*>feed


def outline(data) -> tuple[int, int, int]:
    """How many paragraphs, characters and lines a piece of text has; a byte that is no text is a character.

    A stream that is opened with what all pieces before it have had gives the same as one for the whole text.
    """
    cdef const unsigned char[::1] view = memoryview(data).cast("B")
    cdef Tables known = tables()
    cdef const unsigned char* at
    cdef const unsigned char* end
    cdef const unsigned char* line_end
    cdef int64_t paragraphs = 0, characters = 0, lines = 0
    cdef bint after_blank = True
    if view.shape[0] == 0:
        return 0, 0, 0
    at = &view[0]
    end = at + view.shape[0]
    while at < end:
        line_end = end_of_line(at, end)
        if is_blank(&known, at, line_end):
            after_blank = True
        else:
            paragraphs += after_blank
            after_blank = False
        if line_end < end:
            line_end += 1
            lines += 1
        if invalid_utf8(<const char*>at, <const char*>line_end) == <const char*>line_end:
            characters += count_points(at, line_end - at)
        else:
            characters += len(at[:line_end - at].decode("utf-8", "surrogateescape"))
        at = line_end
    return paragraphs, characters, lines


def split_point(data) -> int:
    """Where the last paragraph begins, if a paragraph ends before it; 0 if there is only one.

    The data must begin where a line does. What lies before the place can be segmented by itself.
    """
    cdef const unsigned char[::1] view = memoryview(data).cast("B")
    cdef Tables known = tables()
    cdef const unsigned char* first
    cdef const unsigned char* at
    cdef const unsigned char* end
    cdef const unsigned char* line_end
    cdef Py_ssize_t place = 0
    cdef bint after_blank = False, has_content = False
    if view.shape[0] == 0:
        return 0
    first = at = &view[0]
    end = at + view.shape[0]
    with nogil:
        while at < end:
            line_end = end_of_line(at, end)
            if is_blank(&known, at, line_end):
                after_blank = True
            else:
                if after_blank and has_content:
                    place = at - first
                after_blank = False
                has_content = True
            at = line_end + 1 if line_end < end else end
    return place

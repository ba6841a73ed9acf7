"""Comments from their stored form back to lines; every function gives 0 or what is wrong."""

from libc.string cimport memchr, memcmp, strlen

from covington.arrow.views cimport ListView, StringView, is_valid
from covington.corpus.conllu.comments cimport comment_value
from covington.corpus.conllu.text_output cimport Output, put, put_byte, NO_MEMORY

cdef enum:
    BREAK = NO_MEMORY + 1  # a value that holds a line break


cdef inline bint has(StringView* values, Py_ssize_t place) noexcept nogil:
    return values.length > 0 and is_valid(values.valid, values.valid_from, place)


cdef inline int put_line(Output* output, const char* prefix, StringView* values, Py_ssize_t place) noexcept nogil:
    """A comment line of a prefix and a value; nothing for a null."""
    cdef const char* start
    cdef Py_ssize_t size
    cdef int trouble
    if not has(values, place):
        return 0
    start = values.data + values.offsets[place]
    size = values.offsets[place + 1] - values.offsets[place]
    if size and memchr(start, c"\n", size) != NULL:
        return BREAK
    trouble = put(output, prefix, <Py_ssize_t>strlen(prefix))
    if trouble == 0 and size:
        trouble = put(output, start, size)
    return trouble if trouble else put_byte(output, c"\n")


cdef inline int put_text(Output* output, StringView* texts, Py_ssize_t row) noexcept nogil:
    """The line with the text of a sentence; a line break in it is a space like any other."""
    cdef const char* prefix = b"# text = "
    cdef Py_ssize_t at, size
    cdef int trouble
    if not has(texts, row):
        return 0
    size = texts.offsets[row + 1] - texts.offsets[row]
    trouble = put(output, prefix, <Py_ssize_t>strlen(prefix))
    if trouble == 0 and size:
        trouble = put(output, texts.data + texts.offsets[row], size)
    if trouble:
        return trouble
    for at in range(output.size - size, output.size):
        if output.block.data[at] == c"\n" or output.block.data[at] == c"\r":
            output.block.data[at] = c" "
    return put_byte(output, c"\n")


cdef inline bint is_marker(StringView* values, Py_ssize_t place, const char* marker) noexcept nogil:
    cdef Py_ssize_t size = values.offsets[place + 1] - values.offsets[place]
    return size == <Py_ssize_t>strlen(marker) and memcmp(values.data + values.offsets[place], marker, size) == 0


cdef inline bint gives(StringView* comments, Py_ssize_t place, const char* marker, const char* key) noexcept nogil:
    """Whether a stored comment stands for the metadata `key`."""
    cdef const char* start
    cdef const char* end
    return has(comments, place) and (is_marker(comments, place, marker) or comment_value(
        comments.data + comments.offsets[place], comments.data + comments.offsets[place + 1],
        key, <Py_ssize_t>strlen(key), &start, &end,
    ))


cdef inline int put_comments(
    Output* output, ListView* lists, StringView* comments, StringView* sent_ids, StringView* texts, Py_ssize_t row
) noexcept nogil:
    """The comments in order; sent_id and text come first if no comment has their place."""
    cdef Py_ssize_t first = 0, last = 0, place
    cdef bint sent_id = True, text = True
    cdef int trouble = 0
    if lists.length and is_valid(lists.valid, lists.valid_from, row):
        first, last = lists.offsets[row], lists.offsets[row + 1]
    for place in range(first, last):
        sent_id &= not gives(comments, place, b"__SENT_ID__", b"sent_id")
        text &= not gives(comments, place, b"__TEXT__", b"text")
    if sent_id:
        trouble = put_line(output, b"# sent_id = ", sent_ids, row)
    if text and trouble == 0:
        trouble = put_text(output, texts, row)
    for place in range(first, last):
        if trouble:
            return trouble
        if not has(comments, place):
            continue
        if is_marker(comments, place, b"__SENT_ID__"):
            trouble = put_line(output, b"# sent_id = ", sent_ids, row)
        elif is_marker(comments, place, b"__TEXT__"):
            trouble = put_text(output, texts, row)
        elif (
            comments.offsets[place] < comments.offsets[place + 1]
            and comments.data[comments.offsets[place]] == c"#"
        ):
            trouble = put_line(output, b"", comments, place)
        else:
            trouble = put_line(output, b"# ", comments, place)
    return trouble

"""Comments in their stored form: `# ` is taken off, sent_id and text leave a marker in their place.

    # sent_id = 7    ⇄  __SENT_ID__  (the value is in the column sent_id)
    # text = Hello   ⇄  __TEXT__     (the value is in the column text)
    # newpar         ⇄  newpar
    #anything else   ⇄  #anything else

A line whose stored form would be taken for something else is kept whole, so nothing is ever lost.
The markers are those of the Hugging Face dataset `commul/universal_dependencies`.
"""

from libc.string cimport memcmp


cdef inline bint starts_with(const char* start, const char* end, const char* prefix, Py_ssize_t size) noexcept nogil:
    return end - start >= size and memcmp(start, prefix, size) == 0


cdef inline bint is_space(char character) noexcept nogil:
    return character == c" " or character == c"\t"


cdef inline bint comment_value(
    const char* start, const char* end, const char* key, Py_ssize_t size, const char** value, const char** value_end
) noexcept nogil:
    """Whether a comment, whole or stored, assigns to `key`; if so, where the value is, without spaces around."""
    if start < end and start[0] == c"#":
        start += 1
    while start < end and is_space(start[0]):
        start += 1
    if not starts_with(start, end, key, size):
        return False
    start += size
    while start < end and is_space(start[0]):
        start += 1
    if start == end or start[0] != c"=":
        return False
    start += 1
    while start < end and is_space(start[0]):
        start += 1
    while start < end and is_space((end - 1)[0]):
        end -= 1
    value[0] = start
    value_end[0] = end
    return True


cdef inline bint must_stay_whole(const char* rest, const char* end) noexcept nogil:
    """Whether what follows `# ` would read as something else if it stood alone."""
    return (
        (rest < end and rest[0] == c"#")
        or (end - rest == 11 and memcmp(rest, b"__SENT_ID__", 11) == 0)
        or (end - rest == 8 and memcmp(rest, b"__TEXT__", 8) == 0)
    )

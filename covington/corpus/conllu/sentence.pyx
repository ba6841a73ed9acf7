"""One sentence of CoNLL-U into the growing columns: lines split at tabs, every field checked once."""

from libc.stdint cimport int32_t, int64_t, uint16_t
from libc.string cimport memchr, memset

from covington.arrow.buffers cimport Strings, append, copy_short, reserve, set_bit
from covington.corpus.conllu.columns cimport FIELDS, HEAD, MOST_WORDS, Columns, make_word_room
from covington.corpus.conllu.comments cimport comment_value, must_stay_whole, starts_with
from covington.corpus.conllu.text_scan cimport invalid_utf8, is_blank, next_break, number, split_line

cdef const char* SENT_ID_MARKER = b"__SENT_ID__"
cdef const char* TEXT_MARKER = b"__TEXT__"

cdef void complain(Sentence* sentence, Trouble trouble, int64_t line, const char* value, const char* value_end,
                   long detail) noexcept nogil:
    if sentence.trouble == NONE:
        sentence.trouble = trouble
        sentence.trouble_line = line
        sentence.value = value
        sentence.value_end = value_end
        sentence.detail = detail


cdef inline const char* line_end(Cursor* cursor, const char* start) noexcept nogil:
    """The line feed, or the end of the bytes."""
    cdef const char* feed = <const char*>memchr(start, c"\n", cursor.end - start)
    return cursor.end if feed == NULL else feed


cdef int read_comment(Cursor* cursor, Columns* columns, Sentence* sentence, const char* end) noexcept nogil:
    """Store one comment, and sent_id or text if that is what it gives."""
    cdef const char* start = cursor.at
    cdef const char* value
    cdef const char* value_end
    if sentence.words or sentence.range_is_open or sentence.empty_nodes:
        complain(sentence, LATE_COMMENT, cursor.line, start, end, 0)
        return 0
    if sentence.sent_id == NULL and comment_value(start, end, b"sent_id", 7, &value, &value_end):
        sentence.sent_id, sentence.sent_id_end = value, value_end
        if append(&columns.sent_id, value, value_end, True, cursor.end) < 0:
            return -1
        if value_end == end and value - start == 12 and starts_with(start, end, b"# sent_id = ", 12):
            return append(&columns.comments, SENT_ID_MARKER, SENT_ID_MARKER + 11, True, SENT_ID_MARKER + 11)
    elif not sentence.has_text and comment_value(start, end, b"text", 4, &value, &value_end):
        sentence.has_text = True
        if append(&columns.text, value, value_end, True, cursor.end) < 0:
            return -1
        if value_end == end and value - start == 9 and starts_with(start, end, b"# text = ", 9):
            return append(&columns.comments, TEXT_MARKER, TEXT_MARKER + 8, True, TEXT_MARKER + 8)
    if starts_with(start, end, b"# ", 2) and not must_stay_whole(start + 2, end):
        start += 2
    return append(&columns.comments, start, end, True, cursor.end)


cdef inline bint is_null(const char* start, const char* end) noexcept nogil:
    return end - start == 1 and start[0] == c"_"


cdef int store_word(Cursor* cursor, Columns* columns, Sentence* sentence, const char** starts,
                    const char** ends) noexcept nogil:
    """One word into the columns; each field is looked at once and copied once."""
    cdef long head = 0
    cdef bint valid, has_head = not is_null(starts[HEAD], ends[HEAD])
    cdef Strings* strings = columns.words
    cdef Py_ssize_t size, count = strings.count
    cdef int field
    if sentence.words == MOST_WORDS:
        complain(sentence, TOO_LONG, cursor.line, starts[0], ends[0], 0)
        return 0
    sentence.words += 1
    sentence.range_is_open = False
    sentence.empty_nodes = 0
    if has_head:
        head = number(starts[HEAD], ends[HEAD])
        if head < 0 or head > MOST_WORDS:
            complain(sentence, BAD_HEAD, cursor.line, starts[HEAD], ends[HEAD], 0)
            return 0
        if head > sentence.largest_head:
            sentence.largest_head = head
            sentence.largest_head_line = cursor.line
    if count == columns.word_room and make_word_room(columns) < 0:
        return -1
    (<uint16_t*>columns.heads.data)[count] = <uint16_t>head
    set_bit(columns.heads_valid.data, count, has_head)
    for field in range(1, FIELDS):
        if field == HEAD:
            continue
        valid = field == 1 or not is_null(starts[field], ends[field])
        size = ends[field] - starts[field] if valid else 0
        if reserve(&strings.bytes, strings.size + size) < 0:
            return -1
        copy_short(strings.bytes.data + strings.size, starts[field], size, cursor.end)
        strings.size += size
        strings.count = count + 1
        (<int32_t*>strings.offsets.data)[count + 1] = <int32_t>strings.size
        set_bit(strings.valid.data, count, valid)
        strings += 1
    return 0


cdef int store_node(Cursor* cursor, Strings* fields, const char** starts, const char** ends) noexcept nogil:
    """A multiword token or an empty node: all ten fields as they stand."""
    cdef bint valid
    cdef int field
    for field in range(FIELDS):
        valid = field < 2 or not is_null(starts[field], ends[field])
        if append(&fields[field], starts[field], ends[field], valid, cursor.end) < 0:
            return -1
    return 0


cdef int read_row(Cursor* cursor, Columns* columns, Sentence* sentence, const char** starts,
                  const char** ends) noexcept nogil:
    """Ten fields: a word, a multiword token or an empty node, by its ID and in its place."""
    cdef const char* first = starts[0]
    cdef const char* end = ends[0]
    cdef const char* middle = first
    cdef long left, right
    cdef int field
    for field in range(1, FIELDS):
        if starts[field] == ends[field]:
            complain(sentence, EMPTY_FIELD, cursor.line, first, end, field)
            return 0
    while middle < end and middle[0] != c"-" and middle[0] != c".":
        middle += 1
    left = number(first, middle)
    if middle == end:
        if left != sentence.words + 1:
            complain(sentence, WORD_ID, cursor.line, first, end, sentence.words + 1)
            return 0
        return store_word(cursor, columns, sentence, starts, ends)
    right = number(middle + 1, end)
    if middle[0] == c"-":
        if (
            left != sentence.words + 1 or right < left or left <= sentence.range_end
            or sentence.range_is_open
        ):
            complain(sentence, RANGE_ID, cursor.line, first, end, sentence.words + 1)
            return 0
        sentence.range_end = right
        sentence.range_line = cursor.line
        sentence.range_is_open = True
        return store_node(cursor, columns.multiword, starts, ends)
    if left != sentence.words or right <= sentence.empty_nodes or sentence.range_is_open:
        complain(sentence, EMPTY_ID, cursor.line, first, end, sentence.words)
        return 0
    sentence.empty_nodes = right
    return store_node(cursor, columns.empty, starts, ends)


cdef int read_line(Cursor* cursor, Columns* columns, Sentence* sentence) noexcept nogil:
    """One line that starts with a digit: split it at the tabs; INCOMPLETE if the bytes end inside it."""
    cdef const char* starts[FIELDS]
    cdef const char* ends[FIELDS]
    cdef const char* at
    cdef int fields = split_line(cursor.at, cursor.end, ends, FIELDS)
    cdef int i
    at = ends[fields - 1]
    if at < cursor.end and at[0] == c"\t":
        at = line_end(cursor, at)
    if at == cursor.end and not cursor.final:
        return INCOMPLETE
    sentence.end = at
    if fields < FIELDS or ends[FIELDS - 1] != at:
        while fields >= FIELDS and ends[FIELDS - 1] != at:
            ends[FIELDS - 1] = next_break(ends[FIELDS - 1] + 1, at)
            fields += 1
        complain(sentence, COLUMNS, cursor.line, NULL, NULL, fields)
    else:
        starts[0] = cursor.at
        for i in range(1, FIELDS):
            starts[i] = ends[i - 1] + 1
        while ends[FIELDS - 1] > starts[FIELDS - 1] and (ends[FIELDS - 1] - 1)[0] == c"\r":
            ends[FIELDS - 1] -= 1
        if read_row(cursor, columns, sentence, starts, ends) < 0:
            return NO_MEMORY
    cursor.at = at
    return READ


cdef inline const char* lone_return(const char* start, const char* end) noexcept nogil:
    """The first carriage return that is neither before a line feed nor at the end; NULL if there is none."""
    cdef const char* at = start
    while at < end:
        at = <const char*>memchr(at, c"\r", end - at)
        if at == NULL:
            return NULL
        start = at
        while at < end and at[0] == c"\r":
            at += 1
        if at < end and at[0] != c"\n":
            return start
    return NULL


cdef void complain_of_bytes(Sentence* sentence, Trouble trouble, const char* at) noexcept nogil:
    """What explains all other troubles; on the line of `at`."""
    sentence.trouble = NONE
    complain(sentence, trouble, sentence.line, NULL, NULL, 0)
    while at > sentence.start:
        at -= 1
        if at[0] == c"\n":
            sentence.trouble_line += 1


cdef void check_whole(Sentence* sentence) noexcept nogil:
    """What can only be judged at the end of the sentence."""
    cdef const char* bad
    if sentence.range_end > sentence.words:
        complain(sentence, RANGE_ID, sentence.range_line, NULL, NULL, 0)
    elif sentence.words == 0:
        complain(sentence, NO_WORDS, sentence.line, NULL, NULL, sentence.empty_nodes)
    elif sentence.largest_head > sentence.words:
        complain(sentence, FAR_HEAD, sentence.largest_head_line, NULL, NULL, sentence.largest_head)
    if sentence.end - sentence.start > LARGEST_SENTENCE:
        sentence.trouble = NONE  # all the rest is of no interest
        sentence.sent_id = NULL
        complain(sentence, TOO_LARGE, sentence.line, NULL, NULL, 0)
        return
    bad = invalid_utf8(sentence.start, sentence.end)
    if bad != sentence.end:
        complain_of_bytes(sentence, NOT_UTF8, bad)
        return
    bad = lone_return(sentence.start, sentence.end)
    if bad != NULL:  # some take it for the end of a line: what follows may be another sentence
        complain_of_bytes(sentence, LONE_RETURN, bad)
        if sentence.sent_id != NULL and sentence.sent_id <= bad < sentence.sent_id_end:
            sentence.sent_id_end = bad


cdef int skip_blank_lines(Cursor* cursor) noexcept nogil:
    """Go to the first line of a sentence; a byte order mark in front of it counts as nothing."""
    cdef const char* end
    while cursor.at < cursor.end:
        if cursor.at[0] == c"\n":
            cursor.at += 1
            cursor.line += 1
            continue
        if starts_with(cursor.at, cursor.end, b"\xef\xbb\xbf", 3):
            cursor.at += 3
            continue
        end = line_end(cursor, cursor.at)
        if not is_blank(cursor.at, end):
            return READ
        if end == cursor.end:
            if cursor.final:
                cursor.at = end
            return NOTHING
        cursor.at = end + 1
        cursor.line += 1
    return NOTHING


cdef void complain_of_line(Sentence* sentence, int64_t line, const char* start, const char* end) noexcept nogil:
    """A line that does not begin with a number: if it has ten columns, it is the ID that is wrong."""
    cdef const char* at = start
    cdef const char* first = NULL
    cdef int fields = 1
    while at < end:
        if at[0] == c"\t":
            fields += 1
            if first == NULL:
                first = at
        at += 1
    if fields == FIELDS:
        complain(sentence, WORD_ID, line, start, first, sentence.words + 1)
    else:
        complain(sentence, COLUMNS, line, NULL, NULL, fields)


cdef int read_sentence(Cursor* cursor, Columns* columns, Sentence* sentence) noexcept nogil:
    """One sentence into the columns; they and the cursor stay as they were unless it was read whole."""
    cdef const char* end
    cdef int outcome
    memset(sentence, 0, sizeof(Sentence))
    if skip_blank_lines(cursor) == NOTHING:
        return NOTHING
    sentence.start = cursor.at
    sentence.line = cursor.line
    while True:
        if cursor.at == cursor.end:
            if cursor.final:
                break
            return INCOMPLETE
        if sentence.trouble == NONE and c"0" <= cursor.at[0] <= c"9":
            outcome = read_line(cursor, columns, sentence)
            if outcome != READ:
                return outcome
        else:
            end = line_end(cursor, cursor.at)
            if end == cursor.end and not cursor.final:
                return INCOMPLETE
            if is_blank(cursor.at, end):
                cursor.at = end  # the blank line is skipped with those that may follow
                break
            sentence.end = end
            if cursor.at[0] == c"#":
                while (end - 1)[0] == c"\r":
                    end -= 1
                if sentence.trouble == NONE and read_comment(cursor, columns, sentence, end) < 0:
                    return NO_MEMORY
            else:
                complain_of_line(sentence, cursor.line, cursor.at, end)
            cursor.at = sentence.end
        if cursor.at < cursor.end:
            cursor.at += 1
            cursor.line += 1
    check_whole(sentence)
    return READ if sentence.trouble == NONE else REJECTED


cdef bint pass_sentence(Cursor* cursor) noexcept nogil:
    """Go to the blank line after the next sentence, whatever it holds; whether there is one."""
    cdef const char* end
    if skip_blank_lines(cursor) == NOTHING:
        return False
    while cursor.at < cursor.end:
        end = line_end(cursor, cursor.at)
        if is_blank(cursor.at, end):
            break
        if end == cursor.end:
            cursor.at = end
        else:
            cursor.at = end + 1
            cursor.line += 1
    return True

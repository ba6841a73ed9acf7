"""The columns of a batch of sentences: closing a sentence, dropping one, and the record batch at the end."""

from libc.stdint cimport int32_t, int64_t, uint16_t

import pyarrow as pa

from covington.arrow.buffers cimport (
    Block, Strings, append, buffer_of, release, release_strings, reserve, string_array,
)

from covington.arrow.arrays import repeated
from covington import schemas
from covington.base.agreement import require_same_value
from covington.schemas import EMPTY_NODE, MULTIWORD, SENTENCE

require_same_value("the number of words in the longest sentence", schemas.MOST_WORDS, MOST_WORDS)
require_same_value("the number of fields of a word", 1 + len(schemas.WORD_COLUMNS), FIELDS)
require_same_value("the place of the form", 1 + schemas.WORD_COLUMNS.index("tokens"), FORM)
require_same_value("the place of the head", 1 + schemas.WORD_COLUMNS.index("head"), HEAD)


cdef void clear(Columns* columns) noexcept nogil:
    """Give all memory back."""
    cdef int i
    for i in range(WORD_COLUMNS):
        release_strings(&columns.words[i])
    for i in range(FIELDS):
        release_strings(&columns.multiword[i])
        release_strings(&columns.empty[i])
    release_strings(&columns.sent_id)
    release_strings(&columns.text)
    release_strings(&columns.comments)
    release(&columns.heads)
    release(&columns.heads_valid)
    release(&columns.word_ends)
    release(&columns.comment_ends)
    release(&columns.multiword_ends)
    release(&columns.empty_ends)
    release(&columns.positions)
    release(&columns.lines)
    columns.sentences = columns.word_room = 0


cdef int make_word_room(Columns* columns) noexcept nogil:
    """Room for more words in all the columns that grow with their number."""
    cdef Py_ssize_t room = columns.word_room + (columns.word_room >> 1) + 1024
    cdef Py_ssize_t expected = columns.heads.expected // <Py_ssize_t>sizeof(uint16_t)
    cdef int i
    if columns.word_room == 0 and expected > room:
        room = expected + (expected >> 4)
    for i in range(WORD_COLUMNS):
        if (
            reserve(&columns.words[i].offsets, (room + 1) * <Py_ssize_t>sizeof(int32_t)) < 0
            or reserve(&columns.words[i].valid, (room >> 3) + 1) < 0
        ):
            return -1
    if (
        reserve(&columns.heads, room * <Py_ssize_t>sizeof(uint16_t)) < 0
        or reserve(&columns.heads_valid, (room >> 3) + 1) < 0
    ):
        return -1
    columns.word_room = room
    return 0


cdef inline int put_end(Block* ends, Py_ssize_t sentence, Py_ssize_t end) noexcept nogil:
    if reserve(ends, (sentence + 2) * <Py_ssize_t>sizeof(int32_t)) < 0:
        return -1
    (<int32_t*>ends.data)[0] = 0
    (<int32_t*>ends.data)[sentence + 1] = <int32_t>end
    return 0


cdef inline int put_number(Block* numbers, Py_ssize_t sentence, int64_t value) noexcept nogil:
    if reserve(numbers, (sentence + 1) * <Py_ssize_t>sizeof(int64_t)) < 0:
        return -1
    (<int64_t*>numbers.data)[sentence] = value
    return 0


cdef int close_sentence(Columns* columns, int64_t position, int64_t line) noexcept nogil:
    """Everything appended since the last call is one sentence; sent_id and text are null if not there."""
    cdef Py_ssize_t sentence = columns.sentences
    if columns.sent_id.count == sentence and append(&columns.sent_id, NULL, NULL, False, NULL) < 0:
        return -1
    if columns.text.count == sentence and append(&columns.text, NULL, NULL, False, NULL) < 0:
        return -1
    if (
        put_end(&columns.word_ends, sentence, columns.words[0].count) < 0
        or put_end(&columns.comment_ends, sentence, columns.comments.count) < 0
        or put_end(&columns.multiword_ends, sentence, columns.multiword[0].count) < 0
        or put_end(&columns.empty_ends, sentence, columns.empty[0].count) < 0
        or put_number(&columns.positions, sentence, position) < 0
        or put_number(&columns.lines, sentence, line) < 0
    ):
        return -1
    columns.sentences = sentence + 1
    return 0


cdef inline Py_ssize_t last_end(Block* ends, Py_ssize_t sentences) noexcept nogil:
    return (<int32_t*>ends.data)[sentences] if sentences else 0


cdef inline void cut(Strings* strings, Py_ssize_t count) noexcept nogil:
    strings.count = count
    strings.size = (<int32_t*>strings.offsets.data)[count] if count else 0


cdef void roll_back(Columns* columns) noexcept nogil:
    """Forget everything appended since the last sentence was closed."""
    cdef Py_ssize_t sentences = columns.sentences
    cdef Py_ssize_t words = last_end(&columns.word_ends, sentences)
    cdef Py_ssize_t multiword = last_end(&columns.multiword_ends, sentences)
    cdef Py_ssize_t empty = last_end(&columns.empty_ends, sentences)
    cdef int i
    for i in range(WORD_COLUMNS):
        cut(&columns.words[i], words)
    for i in range(FIELDS):
        cut(&columns.multiword[i], multiword)
        cut(&columns.empty[i], empty)
    cut(&columns.comments, last_end(&columns.comment_ends, sentences))
    cut(&columns.sent_id, sentences)
    cut(&columns.text, sentences)


NO_NODES = pa.nulls(0, MULTIWORD)


cdef object nodes(Strings* fields, type_):
    """Ten string columns as one array of structs."""
    cdef int i
    if fields[0].count == 0:
        return NO_NODES
    arrays = [string_array(&fields[i], i != 0) for i in range(FIELDS)]
    return pa.StructArray.from_arrays(arrays, fields=list(type_))


cdef object record_batch(Columns* columns, str source):
    """The sentences as a record batch, without copying them; the columns are empty afterwards."""
    cdef Py_ssize_t sentences = columns.sentences, words = columns.words[0].count
    cdef int i
    if sentences == 0:
        clear(columns)
        return pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in SENTENCE], schema=SENTENCE)
    offsets_size = (sentences + 1) * sizeof(int32_t)
    word_ends = buffer_of(&columns.word_ends, offsets_size)

    def lists(type_, ends, values):
        return pa.Array.from_buffers(type_, sentences, [None, ends], 0, 0, [values])

    heads = pa.Array.from_buffers(
        pa.uint16(), words,
        [buffer_of(&columns.heads_valid, (words + 7) >> 3), buffer_of(&columns.heads, words * 2)],
    )
    values = [string_array(&columns.words[i], i != 0) for i in range(WORD_COLUMNS)]
    values.insert(HEAD - 1, heads)
    arrays = {
        name: lists(SENTENCE.field(name).type, word_ends, array) for name, array in zip(schemas.WORD_COLUMNS, values)
    }
    for name, (ends, array) in {
        "comments": (buffer_of(&columns.comment_ends, offsets_size), string_array(&columns.comments, False)),
        "mwt": (buffer_of(&columns.multiword_ends, offsets_size), nodes(columns.multiword, MULTIWORD)),
        "empty_nodes": (buffer_of(&columns.empty_ends, offsets_size), nodes(columns.empty, EMPTY_NODE)),
    }.items():
        arrays[name] = lists(SENTENCE.field(name).type, ends, array)
    arrays["sent_id"] = string_array(&columns.sent_id, True)
    arrays["text"] = string_array(&columns.text, True)
    arrays["source"] = repeated(source, sentences)
    for name, buffer in (
        ("position", buffer_of(&columns.positions, sentences * 8)),
        ("line", buffer_of(&columns.lines, sentences * 8)),
    ):
        arrays[name] = pa.Array.from_buffers(pa.int64(), sentences, [None, buffer])
    columns.sentences = columns.word_room = 0
    return pa.RecordBatch.from_arrays([arrays[name] for name in SENTENCE.names], schema=SENTENCE)

"""Segmented sentences as a record batch: the columns of SENTENCE, and where every word stood in its document."""

from libc.stdint cimport int32_t, int64_t

import pyarrow as pa

from covington.arrow.buffers cimport Block, Strings, buffer_of, release, release_strings, reserve, string_array

from covington.arrow.arrays import repeated
from covington.schemas import MULTIWORD, SENTENCE

#: The columns of SENTENCE, and what a segmenter adds.
SEGMENTED = pa.schema(
    [*SENTENCE, ("start", pa.list_(pa.int64())), ("end", pa.list_(pa.int64())), ("document", pa.int64())],
    metadata=SENTENCE.metadata,
)
_EMPTY = ("lemmas", "upos", "xpos", "feats", "head", "deprel", "deps")


cdef void clear(Columns* columns) noexcept nogil:
    """Give all memory back."""
    release_strings(&columns.sent_id)
    release_strings(&columns.text)
    release_strings(&columns.comments)
    release_strings(&columns.tokens)
    release_strings(&columns.misc)
    release_strings(&columns.range_ids)
    release_strings(&columns.range_forms)
    release_strings(&columns.range_misc)
    release(&columns.word_ends)
    release(&columns.comment_ends)
    release(&columns.range_ends)
    release(&columns.starts)
    release(&columns.ends)
    release(&columns.positions)
    release(&columns.lines)
    release(&columns.documents)
    columns.sentences = columns.bytes = 0


cdef inline int put_end(Block* ends, Py_ssize_t sentence, Py_ssize_t end) noexcept nogil:
    if reserve(ends, (sentence + 2) * <Py_ssize_t>sizeof(int32_t)) < 0:
        return -1
    (<int32_t*>ends.data)[0] = 0
    (<int32_t*>ends.data)[sentence + 1] = <int32_t>end
    return 0


cdef inline int put_number(Block* numbers, Py_ssize_t place, int64_t value) noexcept nogil:
    if reserve(numbers, (place + 1) * <Py_ssize_t>sizeof(int64_t)) < 0:
        return -1
    (<int64_t*>numbers.data)[place] = value
    return 0


cdef int put_place(Columns* columns, Py_ssize_t word, int64_t start, int64_t end) noexcept nogil:
    """Where a word stood."""
    return -1 if put_number(&columns.starts, word, start) < 0 else put_number(&columns.ends, word, end)


cdef int close_sentence(Columns* columns, int64_t position, int64_t line, int64_t document) noexcept nogil:
    """Everything appended since the last call is one sentence."""
    cdef Py_ssize_t sentence = columns.sentences
    if (
        put_end(&columns.word_ends, sentence, columns.tokens.count) < 0
        or put_end(&columns.comment_ends, sentence, columns.comments.count) < 0
        or put_end(&columns.range_ends, sentence, columns.range_ids.count) < 0
        or put_number(&columns.positions, sentence, position) < 0
        or put_number(&columns.lines, sentence, line) < 0
        or put_number(&columns.documents, sentence, document) < 0
    ):
        return -1
    columns.sentences = sentence + 1
    return 0


cdef object record_batch(Columns* columns, str source):
    """The sentences as a record batch, without copying them; the columns are empty afterwards."""
    cdef Py_ssize_t sentences = columns.sentences, words = columns.tokens.count
    if sentences == 0:
        clear(columns)
        return pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in SEGMENTED], schema=SEGMENTED)
    offsets_size = (sentences + 1) * sizeof(int32_t)
    word_ends = buffer_of(&columns.word_ends, offsets_size)

    def lists(name, ends, values):
        return pa.Array.from_buffers(SEGMENTED.field(name).type, sentences, [None, ends], 0, 0, [values])

    def integers(buffer, count):
        return pa.Array.from_buffers(pa.int64(), count, [None, buffer])

    ranges = columns.range_ids.count
    given = {
        "id": string_array(&columns.range_ids, False),
        "form": string_array(&columns.range_forms, False),
        "misc": string_array(&columns.range_misc, True),
    }
    nodes = pa.StructArray.from_arrays(
        [given.get(field.name, pa.nulls(ranges, field.type)) for field in MULTIWORD], fields=list(MULTIWORD)
    )
    arrays = {name: lists(name, word_ends, pa.nulls(words, SEGMENTED.field(name).type.value_type)) for name in _EMPTY}
    arrays["tokens"] = lists("tokens", word_ends, string_array(&columns.tokens, False))
    arrays["misc"] = lists("misc", word_ends, string_array(&columns.misc, True))
    arrays["start"] = lists("start", word_ends, integers(buffer_of(&columns.starts, words * 8), words))
    arrays["end"] = lists("end", word_ends, integers(buffer_of(&columns.ends, words * 8), words))
    arrays["comments"] = lists(
        "comments", buffer_of(&columns.comment_ends, offsets_size), string_array(&columns.comments, False)
    )
    arrays["mwt"] = lists("mwt", buffer_of(&columns.range_ends, offsets_size), nodes)
    arrays["empty_nodes"] = lists(
        "empty_nodes", pa.py_buffer(bytes(offsets_size)), pa.nulls(0, SEGMENTED.field("empty_nodes").type.value_type)
    )
    arrays["sent_id"] = string_array(&columns.sent_id, False)
    arrays["text"] = string_array(&columns.text, False)
    arrays["source"] = repeated(source, sentences)
    arrays["position"] = integers(buffer_of(&columns.positions, sentences * 8), sentences)
    arrays["line"] = integers(buffer_of(&columns.lines, sentences * 8), sentences)
    arrays["document"] = integers(buffer_of(&columns.documents, sentences * 8), sentences)
    columns.sentences = columns.bytes = 0
    return pa.RecordBatch.from_arrays([arrays[name] for name in SEGMENTED.names], schema=SEGMENTED)

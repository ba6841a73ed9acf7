"""Arrow batches to CoNLL-U bytes, refusing what could not be read back."""

from libc.stdint cimport uint8_t, uint16_t
from libc.string cimport memchr, memset

from covington.arrow.buffers cimport buffer_of, release
from covington.arrow.views cimport (
    ListView, StringView, is_valid, view_list, view_numbers, view_strings, view_validity,
)
from covington.corpus.conllu.comment_output cimport BREAK, has, put_comments
from covington.corpus.conllu.columns cimport FIELDS, FORM, HEAD, MOST_WORDS
from covington.corpus.conllu.text_output cimport Output, put_byte, put_number, put_within, NO_MEMORY
from covington.corpus.conllu.text_scan cimport next_break, number
from covington.corpus.locations import data_error
from covington.schemas import WORD_COLUMNS
from covington.schemas.conform import conform

cdef enum Trouble:  # what is wrong with a sentence, besides a line BREAK; NO_MEMORY is not its fault
    LENGTHS = BREAK + 1
    NO_WORDS, TOO_LONG, FAR_HEAD, BAD_NODE, NO_FORM

cdef dict REASONS = {
    BREAK: "a value holds a tab or a line break",
    LENGTHS: "its lists are not of the same length",
    NO_WORDS: "it has no words",
    TOO_LONG: f"it has more than {MOST_WORDS} words",
    FAR_HEAD: "a head is outside the sentence",
    BAD_NODE: "a multiword token or an empty node has an ID that does not fit its place",
    NO_FORM: "a word is empty",
}


cdef struct Nodes:  # multiword tokens or empty nodes
    ListView lists
    StringView fields[FIELDS]


cdef struct Sentences:
    StringView sent_id
    StringView text
    ListView comment_lists
    StringView comments
    ListView lists[FIELDS]  # by field; 0, the ID, is not used
    StringView words[FIELDS]  # not used for ID and HEAD
    const uint16_t* heads
    const uint8_t* heads_valid
    Py_ssize_t heads_from
    Nodes multiword
    Nodes empty


cdef inline bint is_empty(StringView* values, Py_ssize_t place) noexcept nogil:
    return values.offsets[place] == values.offsets[place + 1]


cdef inline int put_value(Output* output, StringView* values, Py_ssize_t place) noexcept nogil:
    """One value, `_` for a null or an empty one."""
    cdef const char* start
    cdef const char* end
    if not has(values, place) or is_empty(values, place):
        return put_byte(output, c"_")
    start = values.data + values.offsets[place]
    end = values.data + values.offsets[place + 1]
    if next_break(start, end) != end:
        return BREAK
    return put_within(output, start, end - start, values.data + values.offsets[values.length])


cdef int put_node(Output* output, Nodes* nodes, Py_ssize_t place) noexcept nogil:
    cdef int field, trouble = 0
    for field in range(FIELDS):
        if trouble == 0 and field:
            trouble = put_byte(output, c"\t")
        if trouble == 0:
            trouble = put_value(output, &nodes.fields[field], place)
    return trouble if trouble else put_byte(output, c"\n")


cdef struct NodeId:
    long left
    long right


cdef inline NodeId node_id(Nodes* nodes, Py_ssize_t place, char separator) noexcept nogil:
    """The two numbers of `4-5` or `4.1`; -1 if it is anything else."""
    cdef StringView* ids = &nodes.fields[0]
    cdef NodeId result = NodeId(-1, -1)
    cdef const char* start
    cdef const char* end
    cdef const char* middle
    if not has(ids, place):
        return result
    start = middle = ids.data + ids.offsets[place]
    end = ids.data + ids.offsets[place + 1]
    while middle < end and middle[0] != separator:
        middle += 1
    if middle < end:
        result.left = number(start, middle)
        result.right = number(middle + 1, end)
        if result.right < 0:
            result.left = -1
    return result


cdef inline void span(ListView* lists, Py_ssize_t row, Py_ssize_t* first, Py_ssize_t* last) noexcept nogil:
    first[0] = last[0] = 0
    if lists.length and is_valid(lists.valid, lists.valid_from, row):
        first[0], last[0] = lists.offsets[row], lists.offsets[row + 1]


cdef int put_word(Output* output, Sentences* sentences, Py_ssize_t* firsts, Py_ssize_t index, Py_ssize_t words) noexcept nogil:
    cdef int field, trouble = put_number(output, index + 1)
    cdef Py_ssize_t place = firsts[FORM] + index
    if not has(&sentences.words[FORM], place) or is_empty(&sentences.words[FORM], place):
        return NO_FORM  # `_` would be another word
    for field in range(1, FIELDS):
        if trouble == 0:
            trouble = put_byte(output, c"\t")
        if trouble:
            return trouble
        place = firsts[field] + index
        if firsts[field] < 0:
            trouble = put_byte(output, c"_")
        elif field != HEAD:
            trouble = put_value(output, &sentences.words[field], place)
        elif not is_valid(sentences.heads_valid, sentences.heads_from, place):
            trouble = put_byte(output, c"_")
        elif sentences.heads[place] > words:
            trouble = FAR_HEAD
        else:
            trouble = put_number(output, sentences.heads[place])
    return trouble if trouble else put_byte(output, c"\n")


cdef int put_sentence(Output* output, Sentences* sentences, Py_ssize_t row) noexcept nogil:
    cdef Py_ssize_t firsts[FIELDS]
    cdef Py_ssize_t first, last, words, index, multiword, multiword_end, empty, empty_end, start = output.size
    cdef long range_end = 0, minor
    cdef int field, trouble
    cdef NodeId node
    span(&sentences.lists[1], row, &first, &last)
    words = last - first
    if words == 0 or words > MOST_WORDS:
        return NO_WORDS if words == 0 else TOO_LONG
    for field in range(1, FIELDS):
        span(&sentences.lists[field], row, &firsts[field], &last)
        if last - firsts[field] != words:
            if last != firsts[field] or (
                sentences.lists[field].length
                and is_valid(sentences.lists[field].valid, sentences.lists[field].valid_from, row)
            ):
                return LENGTHS
            firsts[field] = -1
    span(&sentences.multiword.lists, row, &multiword, &multiword_end)
    span(&sentences.empty.lists, row, &empty, &empty_end)
    trouble = put_comments(
        output, &sentences.comment_lists, &sentences.comments, &sentences.sent_id, &sentences.text, row
    )
    for index in range(words + 1):
        if index and trouble == 0:
            trouble = put_word(output, sentences, firsts, index - 1, words)
        minor = 0
        while empty < empty_end and trouble == 0:
            node = node_id(&sentences.empty, empty, c".")
            if node.left != index:
                break
            trouble = put_node(output, &sentences.empty, empty) if node.right > minor else BAD_NODE
            minor = node.right
            empty += 1
        if multiword < multiword_end and trouble == 0:
            node = node_id(&sentences.multiword, multiword, c"-")
            if node.left == index + 1:
                if node.left <= range_end or node.right < node.left or node.right > words:
                    return BAD_NODE
                range_end = node.right
                if has(&sentences.multiword.fields[FORM], multiword) and is_empty(
                    &sentences.multiword.fields[FORM], multiword
                ):
                    return NO_FORM
                trouble = put_node(output, &sentences.multiword, multiword)
                multiword += 1
        if trouble:
            return trouble
    if multiword < multiword_end or empty < empty_end:
        return BAD_NODE
    if memchr(output.block.data + start, c"\r", output.size - start) != NULL:
        return BREAK
    return put_byte(output, c"\n")


cdef int view_nodes(object array, Nodes* nodes) except -1:
    cdef int field
    view_list(array, &nodes.lists)
    values = array.values
    if len(values):
        for field in range(FIELDS):
            view_strings(values.field(field), &nodes.fields[field])
    return 0


cdef int view_sentences(object batch, Sentences* sentences) except -1:
    cdef int field
    memset(sentences, 0, sizeof(Sentences))
    view_strings(batch.column("sent_id"), &sentences.sent_id)
    view_strings(batch.column("text"), &sentences.text)
    view_list(batch.column("comments"), &sentences.comment_lists)
    view_strings(batch.column("comments").values, &sentences.comments)
    for field, name in enumerate(WORD_COLUMNS, start=1):
        view_list(batch.column(name), &sentences.lists[field])
        values = batch.column(name).values
        if field == HEAD:
            sentences.heads = <const uint16_t*>view_numbers(values, sizeof(uint16_t))
            sentences.heads_valid = view_validity(values)
            sentences.heads_from = values.offset
        else:
            view_strings(values, &sentences.words[field])
    view_nodes(batch.column("mwt"), &sentences.multiword)
    view_nodes(batch.column("empty_nodes"), &sentences.empty)
    return 0


def format_rows(batch):
    """The sentences of a record batch as CoNLL-U, in an Arrow buffer, and why which rows are not among them."""
    cdef Sentences sentences
    cdef Output output
    cdef Py_ssize_t row = 0, start = 0, rows = batch.num_rows
    cdef int trouble
    batch = conform(batch)
    view_sentences(batch, &sentences)
    memset(&output, 0, sizeof(Output))
    reasons = {}
    while row < rows:
        trouble = 0
        with nogil:
            while row < rows and trouble == 0:
                start = output.size
                trouble = put_sentence(&output, &sentences, row)
                row += 1
        if trouble == NO_MEMORY:
            release(&output.block)
            raise MemoryError
        if trouble:
            output.size = start
            reasons[row - 1] = f"cannot be written as CoNLL-U: {REASONS[trouble]}"
    return buffer_of(&output.block, output.size), reasons


def format_batch(batch):
    """The sentences of a record batch as CoNLL-U, in an Arrow buffer."""
    text, reasons = format_rows(batch)
    for row, reason in reasons.items():
        raise data_error(batch, row, reason)
    return text

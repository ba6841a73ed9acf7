"""CoNLL-U bytes ⇄ Arrow batches: one pass, no Python object per token, the interpreter not held."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.string cimport memset

from covington.corpus.conllu.columns cimport Columns, clear, close_sentence, record_batch, roll_back
from covington.corpus.conllu.sentence cimport (
    BAD_HEAD, COLUMNS, EMPTY_FIELD, EMPTY_ID, FAR_HEAD, INCOMPLETE, LARGEST_SENTENCE, LATE_COMMENT, LONE_RETURN, NO_MEMORY,
    NO_WORDS, NOT_UTF8, NOTHING, RANGE_ID, REJECTED, TOO_LARGE, TOO_LONG, TROUBLE_COUNT, WORD_ID, Cursor, Sentence,
    pass_sentence, read_sentence,
)
from covington.corpus.conllu.text_scan cimport is_blank

from covington.corpus.conllu.format import format_batch, format_rows
from covington.corpus.rejects import Reject, reason, reject_batch
from covington.corpus import rejects
from covington.corpus.conllu import overlong
from covington.base.agreement import require_same_value
from covington.errors import DataError

__all__ = ["SentenceBuilder", "format_batch", "format_rows", "parse_bytes", "sentences_and_lines", "split_point"]

cdef enum:
    LARGEST_BATCH = 64 << 20  # bytes of text after which a batch is full, whatever its number of sentences
    LARGEST_INPUT = 2147483647 - 64  # Arrow's string offsets are 32 bits

cdef dict TROUBLES = {
    COLUMNS: "columns", EMPTY_FIELD: "empty field", WORD_ID: "word ID", RANGE_ID: "multiword ID",
    EMPTY_ID: "empty node ID", BAD_HEAD: "bad head", FAR_HEAD: "far head", LATE_COMMENT: "late comment",
    NO_WORDS: "no words", TOO_LONG: "too long", NOT_UTF8: "not UTF-8", TOO_LARGE: "too large",
    LONE_RETURN: "lone return",
}

if set(TROUBLES.values()) != set(rejects.REASONS) or sorted(TROUBLES) != list(range(1, TROUBLE_COUNT)):
    raise ImportError("rejects.REASONS does not have a sentence for each trouble of the compiled reader")
require_same_value("the number of bytes in the largest sentence", overlong.LONGEST, LARGEST_SENTENCE)


cdef class SentenceBuilder:
    """Takes CoNLL-U piece by piece and gives record batches of at most `batch_size` sentences."""

    cdef Columns columns
    cdef Cursor cursor
    cdef Py_ssize_t batch_size
    cdef Py_ssize_t bytes_in_batch
    cdef readonly str source
    cdef list rejects

    def __cinit__(self, str source, Py_ssize_t batch_size=4096, long long position=0, long long line=1):
        memset(&self.columns, 0, sizeof(Columns))
        memset(&self.cursor, 0, sizeof(Cursor))
        self.source = source
        self.batch_size = batch_size
        self.cursor.position = position
        self.cursor.line = line
        self.rejects = []

    def __dealloc__(self):
        clear(&self.columns)

    @property
    def is_full(self) -> bool:
        return self.columns.sentences >= self.batch_size or self.bytes_in_batch >= LARGEST_BATCH

    @property
    def is_empty(self) -> bool:
        return self.columns.sentences == 0

    @property
    def line(self) -> int:
        """Number of the line that comes next."""
        return self.cursor.line

    def feed(self, data, Py_ssize_t start=0, bint final=False) -> int:
        """Read sentences from `start`; where it stopped: at the end, at a sentence not yet whole, or full."""
        cdef const unsigned char[::1] view = memoryview(data).cast("B")
        cdef Sentence sentence
        cdef Py_ssize_t size = view.shape[0]
        cdef Cursor* cursor = &self.cursor
        cdef int outcome
        cdef const char* bytes_
        if size > LARGEST_INPUT:
            raise DataError("more than 2 GB in one piece; feed it in smaller ones", source=self.source)
        if not 0 <= start < size:
            return size
        bytes_ = <const char*>&view[0]
        cursor.at = bytes_ + start
        cursor.end = bytes_ + size
        cursor.final = final
        while not self.is_full:
            with nogil:
                outcome = self.read_sentences(&sentence)
            if outcome == NO_MEMORY:
                raise MemoryError
            if outcome == REJECTED:
                self.keep_reject(&sentence)
            elif outcome == INCOMPLETE or outcome == NOTHING:
                break
        return cursor.at - bytes_

    cdef int read_sentences(self, Sentence* sentence) noexcept nogil:
        """Sentences until the batch is full, the bytes end or one is rejected."""
        cdef int outcome = 0
        cdef Columns* columns = &self.columns
        while columns.sentences < self.batch_size and self.bytes_in_batch < LARGEST_BATCH:
            outcome = read_sentence(&self.cursor, columns, sentence)
            if outcome == NOTHING:
                return outcome
            if outcome == 0 and close_sentence(columns, self.cursor.position, sentence.line) < 0:
                outcome = NO_MEMORY
            if outcome:
                roll_back(columns)
                if outcome == INCOMPLETE:
                    self.cursor.at = sentence.start
                    self.cursor.line = sentence.line
                else:
                    self.cursor.position += 1
                return outcome
            self.cursor.position += 1
            self.bytes_in_batch += sentence.end - sentence.start
        return outcome

    cdef keep_reject(self, Sentence* sentence):
        value = b"" if sentence.value == NULL else PyBytes_FromStringAndSize(
            sentence.value, min(sentence.value_end - sentence.value, 200))
        sent_id = None if sentence.sent_id == NULL else PyBytes_FromStringAndSize(
            sentence.sent_id, sentence.sent_id_end - sentence.sent_id).decode("utf-8", "replace")
        if sentence.trouble == TOO_LARGE:
            raw = PyBytes_FromStringAndSize(sentence.start, min(sentence.end - sentence.start, <Py_ssize_t>overlong.KEPT))
        else:
            raw = PyBytes_FromStringAndSize(sentence.start, sentence.end - sentence.start) + b"\n"
        self.rejects.append(Reject(
            self.source, sentence.trouble_line, self.cursor.position - 1, sent_id,
            reason(TROUBLES[sentence.trouble], value, sentence.detail, sentence.words), raw,
        ))

    def take(self):
        """The sentences so far as a record batch."""
        self.bytes_in_batch = 0
        return record_batch(&self.columns, self.source)

    def take_rejects(self) -> list:
        """The rejects so far."""
        rejects, self.rejects = self.rejects, []
        return rejects

    def skip(self, const unsigned char[::1] raw, Py_ssize_t lines, str why) -> None:
        """Count a stretch of the file as one rejected sentence."""
        self.rejects.append(Reject(self.source, self.cursor.line, self.cursor.position, None, why, bytes(raw)))
        self.cursor.position += 1
        self.cursor.line += lines


def parse_bytes(data, str source, long long first_position=0, long long first_line=1):
    """Whole sentences to a batch of the SENTENCE schema and one of the REJECT schema."""
    cdef SentenceBuilder builder = SentenceBuilder(source, LARGEST_INPUT, first_position, first_line)
    builder.bytes_in_batch = -LARGEST_INPUT  # never full
    builder.feed(data, 0, True)
    return builder.take(), reject_batch(builder.take_rejects())


def sentences_and_lines(data) -> tuple[int, int]:
    """How many sentences parse_bytes would find, good or bad: runs of lines between blank lines. And how many lines."""
    cdef const unsigned char[::1] view = memoryview(data).cast("B")
    cdef Cursor cursor
    cdef Py_ssize_t count = 0
    if view.shape[0] == 0:
        return 0, 0
    memset(&cursor, 0, sizeof(Cursor))
    cursor.at = <const char*>&view[0]
    cursor.end = cursor.at + view.shape[0]
    cursor.final = True
    with nogil:
        while pass_sentence(&cursor):
            count += 1
    return count, cursor.line


cdef Py_ssize_t after_last_blank_line(const char* data, Py_ssize_t size) noexcept nogil:
    cdef Py_ssize_t line_start, line_end = size - 1
    while line_end >= 0 and data[line_end] != c"\n":
        line_end -= 1  # a last line that is not whole
    while line_end >= 0:
        line_start = line_end
        while line_start > 0 and data[line_start - 1] != c"\n":
            line_start -= 1
        if is_blank(data + line_start, data + line_end):
            return line_end + 1
        line_end = line_start - 1
    return 0


def split_point(data) -> int:
    """The place after the last blank line, where a new sentence may start; 0 if there is none.

    The data must begin where a line does.
    """
    cdef const unsigned char[::1] view = memoryview(data).cast("B")
    cdef Py_ssize_t place
    if view.shape[0] == 0:
        return 0
    with nogil:
        place = after_last_blank_line(<const char*>&view[0], view.shape[0])
    return place

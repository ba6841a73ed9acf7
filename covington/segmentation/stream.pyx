"""Text to batches of sentences, piece by piece: bytes, lines, chunks, tokens, sentences; memory does not grow."""

from libc.stdint cimport int64_t
from libc.string cimport memchr, memcpy, memmove, memset

from covington.arrow.buffers cimport release as release_block, reserve
from covington.arrow.views cimport StringView, is_valid, view_strings
from covington.segmentation cimport scanner, sentences, tokens
from covington.segmentation.columns cimport record_batch
from covington.segmentation.core cimport Core
from covington.segmentation.scanner cimport (
    DONE, FULL, LINES_ARE_DOCUMENTS, LINES_ARE_SENTENCES, NO_MEMORY, PARAGRAPHS, REJECTED, ROWS_ARE_DOCUMENTS,
    SPACES, Scanner,
)
from covington.corpus.conllu.text_output cimport Output, put
from covington.corpus.conllu.text_scan cimport invalid_utf8

from covington.corpus.rejects import Reject
from covington.errors import DataError, OptionError

cdef enum:
    KEPT = 1 << 16  # bytes of a reject

_MODES = {
    "paragraph": PARAGRAPHS, "sentence": LINES_ARE_SENTENCES, "document": LINES_ARE_DOCUMENTS,
    "row": ROWS_ARE_DOCUMENTS,
}


cdef class SegmentStream:
    """Takes text piece by piece and gives batches of sentences; the same ones, however it is cut.

    Characters are counted from `start`, lines from `line` and paragraphs from `position`: a part of a file that
    begins with a paragraph is numbered as in the whole.
    """

    cdef Core core
    cdef Scanner at
    cdef int64_t in_rejects
    cdef bint is_closed
    cdef readonly str source
    cdef list rejects

    def __cinit__(
        self, Core core not None, str source, str document, str mode, Py_ssize_t batch_size,
        long long position, long long line, long long start,
    ):
        memset(&self.at, 0, sizeof(Scanner))
        self.core = core
        self.source = source
        self.at.mode = _MODES[mode]
        self.at.batch_size = batch_size
        self.rejects = []
        self.at.line = line
        self.at.chunk_start = -1
        self.at.sentences.document = -1
        self.at.sentences.paragraph = position - 1
        self.at.sentences.is_whole_line = self.at.mode == LINES_ARE_SENTENCES
        if tokens.start(&self.at.tokenizer, &core.model) < 0:
            raise MemoryError
        self.set_name(&self.at.prefix, document)
        if self.at.mode != ROWS_ARE_DOCUMENTS and scanner.new_document(&self.at) < 0:
            raise MemoryError
        if self.at.mode == PARAGRAPHS or self.at.mode == LINES_ARE_SENTENCES:
            self.at.sentences.paragraph_of_document = position + 1
            self.at.sentences.has_document_mark = position == 0
            self.at.point = start

    def __dealloc__(self):
        tokens.release(&self.at.tokenizer)
        sentences.release(&self.at.sentences)
        release_block(&self.at.text)
        release_block(&self.at.prefix.block)
        release_block(&self.at.name.block)

    @property
    def characters(self) -> dict:
        """Code points so far: in tokens, between tokens, in rejects; after finish() these are all that went in."""
        return {"tokens": self.at.sentences.in_tokens, "between": self.at.sentences.between, "rejects": self.in_rejects}

    def feed(self, data) -> list:
        """Take some more text; the batches that are full."""
        cdef const unsigned char[::1] view = memoryview(data).cast("B")
        cdef Py_ssize_t done = 0, size = view.shape[0]
        cdef const unsigned char* bytes_ = &view[0] if size else NULL
        cdef int outcome = FULL
        if self.is_closed or self.at.mode == ROWS_ARE_DOCUMENTS:
            raise OptionError("this stream takes no more text: open another one")
        batches = []
        while outcome != DONE:
            with nogil:
                outcome = scanner.take_in(&self.at, bytes_, size, &done)
            self.handle(outcome, batches)
        return batches

    def finish(self) -> list:
        """The text has ended; the last batches."""
        batches = []
        if self.is_closed:
            return batches
        if self.at.mode != ROWS_ARE_DOCUMENTS:
            self.handle(scanner.check_line(&self.at, True), batches)
            self.scan_all(batches)
            scanner.end_document(&self.at)
        self.is_closed = True
        if self.at.sentences.columns.sentences:
            batches.append(record_batch(&self.at.sentences.columns, self.source))
        return batches

    def add_documents(self, names, texts, long long max_document) -> list:
        """Whole documents, one per value, with their names; the batches that are full.

        A document that is null, longer than `max_document` bytes, not UTF-8, or has a NUL is a reject.
        """
        cdef StringView view
        cdef Py_ssize_t row, size
        cdef const unsigned char* start
        if self.at.mode != ROWS_ARE_DOCUMENTS or self.is_closed:
            raise OptionError("this stream takes no documents: open another one")
        if len(names) != len(texts):
            raise DataError(f"{len(names)} names for {len(texts)} documents")
        view_strings(texts, &view)
        batches = []
        for row, name in enumerate(names.to_pylist()):
            self.set_name(&self.at.prefix, "" if name is None else str(name))
            self.at.line = 1
            if scanner.new_document(&self.at) < 0:
                raise MemoryError
            if not is_valid(view.valid, view.valid_from, row):
                self.keep_reject("the document is null", b"")
                continue
            start = <const unsigned char*>view.data + view.offsets[row]
            size = view.offsets[row + 1] - view.offsets[row]
            reason = f"the document has more than {max_document:,} bytes" if size > max_document else fault(start, size)
            if reason is not None:
                self.keep_reject(reason, start[:size])
            elif size:
                if reserve(&self.at.text, size) < 0:
                    raise MemoryError
                memcpy(self.at.text.data, start, size)
                self.at.size = self.at.checked = size
                self.scan_all(batches)
                scanner.end_document(&self.at)
        return batches

    def take_rejects(self) -> list:
        """The rejects so far."""
        rejects, self.rejects = self.rejects, []
        return rejects

    cdef set_name(self, Output* out, str name):
        """A name on one line, without white space at its ends."""
        encoded = " ".join(name.split()).encode("utf-8", "replace")
        out.size = 0
        if put(out, encoded, len(encoded)):
            raise MemoryError

    cdef int handle(self, int outcome, list batches) except -1:
        """Do what needs the interpreter."""
        if outcome == NO_MEMORY:
            raise MemoryError
        if outcome == FULL:
            batches.append(record_batch(&self.at.sentences.columns, self.source))
        elif outcome == SPACES:
            self.keep_reject("more white space in a row than a token keeps", self.at.text.data[self.at.sentences.settled:self.at.scanned])
            self.at.sentences.settled = self.at.space_start = self.at.scanned
        elif outcome == REJECTED:
            self.reject_line()
        return 0

    cdef int scan_all(self, list batches) except -1:
        cdef int outcome = FULL
        while outcome != DONE:
            with nogil:
                outcome = scanner.scan(&self.at)
            self.handle(outcome, batches)
        return 0

    cdef int keep_reject(self, str reason, bytes raw) except -1:
        self.in_rejects += len(raw.decode("utf-8", "surrogateescape"))
        self.rejects.append(
            Reject(self.source, self.at.line, self.at.sentences.paragraph, None, reason, raw[:KEPT])
        )
        return 0

    cdef int reject_line(self) except -1:
        """What lies between `checked` and `cut` is no text; it ends the sentence before it."""
        cdef Py_ssize_t size = self.at.cut - self.at.checked
        cdef const unsigned char* start = self.at.text.data + self.at.checked
        if scanner.leave_space(&self.at, self.at.checked) < 0 or scanner.flush(&self.at, self.at.checked) < 0:
            raise MemoryError
        raw = start[:size]
        self.keep_reject(fault(start, size), raw)
        self.at.point += len(raw.decode("utf-8", "surrogateescape"))
        memmove(self.at.text.data + self.at.checked, start + size, self.at.size - self.at.cut)
        self.at.size -= size
        self.at.space_start = self.at.last_break = self.at.checked
        if raw.endswith(b"\n"):
            self.at.breaks = 1
            self.at.line += 1
            if self.at.mode == LINES_ARE_DOCUMENTS and scanner.new_document(&self.at) < 0:
                raise MemoryError
        return 0


cdef str fault(const unsigned char* start, Py_ssize_t size):
    """What is wrong with bytes that are no text, or None."""
    cdef const char* first = <const char*>start
    cdef const char* wrong = invalid_utf8(first, first + size)
    cdef const void* null = memchr(start, 0, size) if size else NULL
    if null != NULL and (wrong == first + size or null < <const void*>wrong):
        return f"a NUL is no text (byte {<const unsigned char*>null - start + 1})"
    return None if wrong == first + size else f"not valid UTF-8 (byte {wrong - first + 1})"

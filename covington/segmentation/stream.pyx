"""Text to batches of sentences, piece by piece: bytes, lines, chunks, tokens, sentences; memory does not grow."""

from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memchr, memcpy, memmove, memset

from covington.arrow.buffers cimport Block, release as release_block, reserve
from covington.arrow.views cimport StringView, is_valid, view_strings
from covington.characters.tables cimport SPACE, decode, is_extension
from covington.segmentation cimport sentences, tokens
from covington.segmentation.chunks cimport MAX_CHUNK
from covington.segmentation.columns cimport record_batch
from covington.segmentation.core cimport Core
from covington.segmentation.sentences cimport Sentences, count_points, make_sentences
from covington.segmentation.tokens cimport Chunk, Tokenizer, add_chunk, make_tokens
from covington.corpus.conllu.text_output cimport Output, put, put_byte, put_number
from covington.corpus.conllu.text_scan cimport invalid_utf8

from covington.corpus.rejects import Reject
from covington.errors import DataError, OptionError

cdef enum:
    DONE, FULL, REJECTED, SPACES, NO_MEMORY  # why compiled code stopped
    PARAGRAPHS = 0, LINES_ARE_SENTENCES, LINES_ARE_DOCUMENTS, ROWS_ARE_DOCUMENTS
    MAX_LINE = 1 << 20  # bytes; of a longer line every piece is checked by itself
    MAX_SPACE = 1 << 16  # bytes of white space that one token keeps
    MAX_BATCH = 64 << 20  # bytes of text after which a batch is full, whatever its number of sentences
    KEPT = 1 << 16  # bytes of a reject
    SETTLED = 1 << 16  # bytes of text that are done with before the rest is moved
    FEW = 4096  # tokens that are, likewise

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
    cdef Tokenizer tokenizer
    cdef Sentences sentences
    cdef Block text
    cdef Py_ssize_t size  # bytes in `text`
    cdef Py_ssize_t checked  # up to here they are well-formed, and may be read
    cdef Py_ssize_t cut  # up to here they are not, if the line is rejected
    cdef Py_ssize_t scanned
    cdef Py_ssize_t chunk_start  # -1 between chunks
    cdef Py_ssize_t space_start  # of the white space that is being scanned
    cdef Py_ssize_t last_break  # the place after the last line feed in it
    cdef int64_t breaks  # line feeds in it
    cdef bint has_content  # something other than white space came since the paragraph began
    cdef int mode
    cdef int64_t point  # code points of the document, at `scanned`
    cdef int64_t chunk_point
    cdef int64_t line  # at `scanned`
    cdef int64_t in_rejects
    cdef Py_ssize_t batch_size
    cdef bint is_closed
    cdef readonly str source
    cdef Output prefix  # of the names of documents
    cdef Output name
    cdef list rejects

    def __cinit__(
        self, Core core not None, str source, str document, str mode, Py_ssize_t batch_size,
        long long position, long long line, long long start,
    ):
        memset(&self.tokenizer, 0, sizeof(Tokenizer))
        memset(&self.sentences, 0, sizeof(Sentences))
        memset(&self.text, 0, sizeof(Block))
        memset(&self.prefix, 0, sizeof(Output))
        memset(&self.name, 0, sizeof(Output))
        self.core = core
        self.source = source
        self.mode = _MODES[mode]
        self.batch_size = batch_size
        self.rejects = []
        self.line = line
        self.chunk_start = -1
        self.sentences.document = -1
        self.sentences.paragraph = position - 1
        self.sentences.is_whole_line = self.mode == LINES_ARE_SENTENCES
        if tokens.start(&self.tokenizer, &core.model) < 0:
            raise MemoryError
        self.set_name(&self.prefix, document)
        if self.mode != ROWS_ARE_DOCUMENTS and self.new_document() < 0:
            raise MemoryError
        if self.mode == PARAGRAPHS or self.mode == LINES_ARE_SENTENCES:
            self.sentences.paragraph_of_document = position + 1
            self.sentences.has_document_mark = position == 0
            self.point = start

    def __dealloc__(self):
        tokens.release(&self.tokenizer)
        sentences.release(&self.sentences)
        release_block(&self.text)
        release_block(&self.prefix.block)
        release_block(&self.name.block)

    @property
    def characters(self) -> dict:
        """Code points so far: in tokens, between tokens, in rejects; after finish() these are all that went in."""
        return {"tokens": self.sentences.in_tokens, "between": self.sentences.between, "rejects": self.in_rejects}

    def feed(self, data) -> list:
        """Take some more text; the batches that are full."""
        cdef const unsigned char[::1] view = memoryview(data).cast("B")
        cdef Py_ssize_t at = 0, size = view.shape[0]
        cdef const unsigned char* bytes_ = &view[0] if size else NULL
        cdef int outcome = FULL
        if self.is_closed or self.mode == ROWS_ARE_DOCUMENTS:
            raise OptionError("this stream takes no more text: open another one")
        batches = []
        while outcome != DONE:
            with nogil:
                outcome = self.take_in(bytes_, size, &at)
            self.handle(outcome, batches)
        return batches

    def finish(self) -> list:
        """The text has ended; the last batches."""
        batches = []
        if self.is_closed:
            return batches
        if self.mode != ROWS_ARE_DOCUMENTS:
            self.handle(self.check_line(True), batches)
            self.scan_all(batches)
            self.end_document()
        self.is_closed = True
        if self.sentences.columns.sentences:
            batches.append(record_batch(&self.sentences.columns, self.source))
        return batches

    def add_documents(self, names, texts, long long max_document) -> list:
        """Whole documents, one per value, with their names; the batches that are full.

        A document that is null, longer than `max_document` bytes, not UTF-8, or has a NUL is a reject.
        """
        cdef StringView view
        cdef Py_ssize_t row, size
        cdef const unsigned char* start
        if self.mode != ROWS_ARE_DOCUMENTS or self.is_closed:
            raise OptionError("this stream takes no documents: open another one")
        if len(names) != len(texts):
            raise DataError(f"{len(names)} names for {len(texts)} documents")
        view_strings(texts, &view)
        batches = []
        for row, name in enumerate(names.to_pylist()):
            self.set_name(&self.prefix, "" if name is None else str(name))
            self.line = 1
            if self.new_document() < 0:
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
                if reserve(&self.text, size) < 0:
                    raise MemoryError
                memcpy(self.text.data, start, size)
                self.size = self.checked = size
                self.scan_all(batches)
                self.end_document()
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

    cdef int new_document(self) noexcept nogil:
        """The next character is the first of a document."""
        cdef Sentences* s = &self.sentences
        cdef int trouble
        self.name.size = 0
        trouble = put(&self.name, <const char*>self.prefix.block.data, self.prefix.size)
        if self.mode == LINES_ARE_DOCUMENTS:
            if self.name.size:
                trouble |= put_byte(&self.name, c"-")
            trouble |= put_number(&self.name, <unsigned long>self.line)
        s.document_id, s.document_id_size = <const char*>self.name.block.data, self.name.size
        s.document += 1
        s.paragraph += 1
        s.paragraph_of_document = s.sentence = 1
        s.has_document_mark = s.has_paragraph_mark = True
        self.point = self.breaks = 0
        self.has_content = False
        return -1 if trouble else 0

    cdef int handle(self, int outcome, list batches) except -1:
        """Do what needs the interpreter."""
        if outcome == NO_MEMORY:
            raise MemoryError
        if outcome == FULL:
            batches.append(record_batch(&self.sentences.columns, self.source))
        elif outcome == SPACES:
            self.keep_reject("more white space in a row than a token keeps", self.text.data[self.sentences.settled:self.scanned])
            self.sentences.settled = self.space_start = self.scanned
        elif outcome == REJECTED:
            self.reject_line()
        return 0

    cdef int scan_all(self, list batches) except -1:
        cdef int outcome = FULL
        while outcome != DONE:
            with nogil:
                outcome = self.scan()
            self.handle(outcome, batches)
        return 0

    cdef int keep_reject(self, str reason, bytes raw) except -1:
        self.in_rejects += len(raw.decode("utf-8", "surrogateescape"))
        self.rejects.append(
            Reject(self.source, self.line, self.sentences.paragraph, None, reason, raw[:KEPT])
        )
        return 0

    cdef int reject_line(self) except -1:
        """What lies between `checked` and `cut` is no text; it ends the sentence before it."""
        cdef Py_ssize_t size = self.cut - self.checked
        cdef const unsigned char* start = self.text.data + self.checked
        if self.leave_space(self.checked) < 0 or self.flush(self.checked) < 0:
            raise MemoryError
        raw = start[:size]
        self.keep_reject(fault(start, size), raw)
        self.point += len(raw.decode("utf-8", "surrogateescape"))
        memmove(self.text.data + self.checked, start + size, self.size - self.cut)
        self.size -= size
        self.space_start = self.last_break = self.checked
        if raw.endswith(b"\n"):
            self.breaks = 1
            self.line += 1
            if self.mode == LINES_ARE_DOCUMENTS and self.new_document() < 0:
                raise MemoryError
        return 0

    cdef int take_in(self, const unsigned char* data, Py_ssize_t size, Py_ssize_t* at) noexcept nogil:
        """Read on until something is to be done, or all bytes are taken."""
        cdef const void* feed
        cdef Py_ssize_t more
        cdef int outcome
        while True:
            outcome = self.scan()
            if outcome != DONE or at[0] == size:
                return outcome
            self.forget()
            more = MAX_LINE - (self.size - self.checked)
            more = size - at[0] if size - at[0] < more else more
            feed = memchr(data + at[0], c"\n", more)
            if feed != NULL:
                more = <const unsigned char*>feed - data - at[0] + 1
            if reserve(&self.text, self.size + more) < 0:
                return NO_MEMORY
            memcpy(self.text.data + self.size, data + at[0], more)
            self.size += more
            at[0] += more
            if feed != NULL or self.size - self.checked >= MAX_LINE:
                outcome = self.check_line(feed != NULL)
                if outcome != DONE:
                    return outcome

    cdef int check_line(self, bint is_whole) noexcept nogil:
        """Let the bytes that came be read if they are text. A line that goes on is cut before a whole character."""
        cdef const unsigned char* start = self.text.data + self.checked
        cdef Py_ssize_t size = self.size - self.checked, back
        if not is_whole:
            for back in range(1, 4):
                if start[size - back] & 0xC0 != 0x80:
                    if start[size - back] >= 0xC0:
                        size -= back
                    break
        self.cut = self.checked + size
        if size == 0:
            return DONE
        if invalid_utf8(<const char*>start, <const char*>start + size) != <const char*>start + size or (
            memchr(start, 0, size) != NULL
        ):
            return REJECTED
        self.checked = self.cut
        return DONE

    cdef int scan(self) noexcept nogil:
        """Find the chunks in the text that was checked, and make what they are enough for."""
        cdef const unsigned char* text = self.text.data
        cdef const unsigned char* classes = self.core.model.tables.classes
        cdef int width = 1
        cdef uint32_t point
        cdef unsigned char class_
        while self.scanned < self.checked:
            if self.sentences.columns.sentences >= self.batch_size or self.sentences.columns.bytes >= MAX_BATCH:
                return FULL
            point = decode(text + self.scanned, &width)
            class_ = classes[point]
            if class_ != SPACE:
                if self.chunk_start < 0:
                    if self.leave_space(self.scanned) < 0:
                        return NO_MEMORY
                    self.chunk_start, self.chunk_point = self.scanned, self.point
                elif self.scanned - self.chunk_start >= MAX_CHUNK - 4 and (
                    not is_extension(class_) or self.scanned - self.chunk_start >= MAX_CHUNK
                ):
                    if self.end_chunk(False) < 0:
                        return NO_MEMORY
                    self.chunk_start, self.chunk_point = self.scanned, self.point
                self.scanned += width
                self.point += 1
                continue
            if self.chunk_start >= 0:
                if self.end_chunk(True) < 0:
                    return NO_MEMORY
                self.space_start = self.scanned
                self.breaks = 0
            self.scanned += width
            self.point += 1
            if point == c"\n":
                self.breaks += 1
                self.line += 1
                self.last_break = self.scanned
                if self.mode == LINES_ARE_DOCUMENTS and (self.end_document() < 0 or self.new_document() < 0):
                    return NO_MEMORY
            if self.scanned - self.space_start >= MAX_SPACE:
                if self.tokenizer.chunk_count == 0:
                    return SPACES
                if self.flush(self.scanned) < 0:
                    return NO_MEMORY
                self.space_start = self.scanned
        return DONE

    cdef int end_chunk(self, bint spaced) noexcept nogil:
        """The chunk that was being scanned is whole."""
        cdef Chunk chunk
        memset(&chunk, 0, sizeof(Chunk))
        chunk.start, chunk.end = self.chunk_start, self.scanned
        chunk.first_point, chunk.line, chunk.spaced = self.chunk_point, self.line, spaced
        self.chunk_start = -1
        self.space_start = self.scanned
        if add_chunk(&self.tokenizer, chunk) < 0 or make_tokens(&self.tokenizer, self.text.data, False) < 0:
            return -1
        return make_sentences(&self.tokenizer, &self.sentences, self.text.data, False, self.scanned)

    cdef int leave_space(self, Py_ssize_t here) noexcept nogil:
        """Something other than white space comes: has a paragraph ended before it?"""
        cdef Sentences* s = &self.sentences
        if self.chunk_start < 0 and (self.breaks > 1 or (self.breaks == 1 and self.mode == LINES_ARE_SENTENCES)):
            if self.flush(self.last_break) < 0:
                return -1
            if self.breaks > 1 and self.has_content:
                if s.settled < self.last_break:  # after a reject there is no token to keep it
                    s.between += count_points(self.text.data + s.settled, self.last_break - s.settled)
                    s.settled = self.last_break
                s.has_document_mark = False
                s.paragraph += 1
                s.paragraph_of_document += 1
                s.sentence = 1
                s.has_paragraph_mark = True
        self.breaks = 0
        self.has_content = True
        return 0

    cdef int flush(self, Py_ssize_t gap_end) noexcept nogil:
        """The chunks so far are all that belongs together; white space after them belongs to them up to `gap_end`."""
        cdef Tokenizer* t = &self.tokenizer
        cdef Sentences* s = &self.sentences
        if self.chunk_start >= 0 and self.end_chunk(True) < 0:
            return -1
        if make_tokens(t, self.text.data, True) < 0 or make_sentences(t, s, self.text.data, True, gap_end) < 0:
            return -1
        t.chunk_count = t.chunks_done = t.token_count = s.start = s.next = 0
        t.joined = t.was_joined = False
        s.quotes = s.brackets = 0
        return 0

    cdef int end_document(self) noexcept nogil:
        """White space that no token keeps is counted."""
        cdef Sentences* s = &self.sentences
        if self.flush(self.scanned) < 0:
            return -1
        s.between += count_points(self.text.data + s.settled, self.scanned - s.settled)
        s.settled = self.space_start = self.last_break = self.scanned
        if self.scanned == self.size:
            self.size = self.checked = self.scanned = s.settled = self.space_start = self.last_break = 0
        return 0

    cdef void forget(self) noexcept nogil:
        """Move what is still needed to the front, if most is not."""
        cdef Tokenizer* t = &self.tokenizer
        cdef Sentences* s = &self.sentences
        cdef Py_ssize_t shift, i
        if s.start > FEW:
            shift = s.start - 2
            t.token_count -= shift
            memmove(t.tokens, t.tokens + shift, t.token_count * sizeof(t.tokens[0]))
            s.start -= shift
            s.next -= shift
        if t.chunks_done > FEW:
            shift = t.chunks_done - 1
            t.chunk_count -= shift
            memmove(t.chunks, t.chunks + shift, t.chunk_count * sizeof(Chunk))
            t.chunks_done = 1
        shift = s.settled
        if t.chunks_done and t.chunks[t.chunks_done - 1].start < shift:
            shift = t.chunks[t.chunks_done - 1].start
        if shift < SETTLED:
            return
        memmove(self.text.data, self.text.data + shift, self.size - shift)
        self.size -= shift
        self.checked -= shift
        self.scanned -= shift
        self.space_start -= shift
        self.last_break -= shift
        s.settled -= shift
        if self.chunk_start >= 0:
            self.chunk_start -= shift
        for i in range(t.chunk_count):
            t.chunks[i].start -= shift
            t.chunks[i].end -= shift
        for i in range(t.token_count):
            t.tokens[i].start -= shift
            t.tokens[i].end -= shift


cdef str fault(const unsigned char* start, Py_ssize_t size):
    """What is wrong with bytes that are no text, or None."""
    cdef const char* first = <const char*>start
    cdef const char* wrong = invalid_utf8(first, first + size)
    cdef const void* null = memchr(start, 0, size) if size else NULL
    if null != NULL and (wrong == first + size or null < <const void*>wrong):
        return f"a NUL is no text (byte {<const unsigned char*>null - start + 1})"
    return None if wrong == first + size else f"not valid UTF-8 (byte {wrong - first + 1})"

"""Text to chunks: lines are checked, white space is left out, and what is done with is dropped."""

from libc.stdint cimport uint32_t
from libc.string cimport memchr, memcpy, memmove, memset

from covington.arrow.buffers cimport reserve
from covington.characters.tables cimport SPACE, decode, is_extension
from covington.segmentation.chunks cimport MAX_CHUNK
from covington.segmentation.sentences cimport count_points, make_sentences
from covington.segmentation.tokens cimport Chunk, add_chunk, make_tokens
from covington.corpus.conllu.text_output cimport put, put_byte, put_number
from covington.corpus.conllu.text_scan cimport invalid_utf8

cdef enum:
    MAX_LINE = 1 << 20  # bytes; of a longer line every piece is checked by itself
    MAX_SPACE = 1 << 16  # bytes of white space that one token keeps
    MAX_BATCH = 64 << 20  # bytes of text after which a batch is full, whatever its number of sentences
    SETTLED = 1 << 16  # bytes of text that are done with before the rest is moved
    FEW = 4096  # tokens that are, likewise


cdef int new_document(Scanner* self) noexcept nogil:
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


cdef int take_in(Scanner* self, const unsigned char* data, Py_ssize_t size, Py_ssize_t* at) noexcept nogil:
    """Read on until something is to be done, or all bytes are taken."""
    cdef const void* feed
    cdef Py_ssize_t more
    cdef int outcome
    while True:
        outcome = scan(self)
        if outcome != DONE or at[0] == size:
            return outcome
        forget(self)
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
            outcome = check_line(self, feed != NULL)
            if outcome != DONE:
                return outcome


cdef int check_line(Scanner* self, bint is_whole) noexcept nogil:
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


cdef int scan(Scanner* self) noexcept nogil:
    """Find the chunks in the text that was checked, and make what they are enough for."""
    cdef const unsigned char* text = self.text.data
    cdef const unsigned char* classes = self.tokenizer.model.tables.classes
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
                if leave_space(self, self.scanned) < 0:
                    return NO_MEMORY
                self.chunk_start, self.chunk_point = self.scanned, self.point
            elif self.scanned - self.chunk_start >= MAX_CHUNK - 4 and (
                not is_extension(class_) or self.scanned - self.chunk_start >= MAX_CHUNK
            ):
                if end_chunk(self, False) < 0:
                    return NO_MEMORY
                self.chunk_start, self.chunk_point = self.scanned, self.point
            self.scanned += width
            self.point += 1
            continue
        if self.chunk_start >= 0:
            if end_chunk(self, True) < 0:
                return NO_MEMORY
            self.space_start = self.scanned
            self.breaks = 0
        self.scanned += width
        self.point += 1
        if point == c"\n":
            self.breaks += 1
            self.line += 1
            self.last_break = self.scanned
            if self.mode == LINES_ARE_DOCUMENTS and (end_document(self) < 0 or new_document(self) < 0):
                return NO_MEMORY
        if self.scanned - self.space_start >= MAX_SPACE:
            if self.tokenizer.chunk_count == 0:
                return SPACES
            if flush(self, self.scanned) < 0:
                return NO_MEMORY
            self.space_start = self.scanned
    return DONE


cdef int end_chunk(Scanner* self, bint spaced) noexcept nogil:
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


cdef int leave_space(Scanner* self, Py_ssize_t here) noexcept nogil:
    """Something other than white space comes: has a paragraph ended before it?"""
    cdef Sentences* s = &self.sentences
    if self.chunk_start < 0 and (self.breaks > 1 or (self.breaks == 1 and self.mode == LINES_ARE_SENTENCES)):
        if flush(self, self.last_break) < 0:
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


cdef int flush(Scanner* self, Py_ssize_t gap_end) noexcept nogil:
    """The chunks so far are all that belongs together; white space after them belongs to them up to `gap_end`."""
    cdef Tokenizer* t = &self.tokenizer
    cdef Sentences* s = &self.sentences
    if self.chunk_start >= 0 and end_chunk(self, True) < 0:
        return -1
    if make_tokens(t, self.text.data, True) < 0 or make_sentences(t, s, self.text.data, True, gap_end) < 0:
        return -1
    t.chunk_count = t.chunks_done = t.token_count = s.start = s.next = 0
    t.joined = t.was_joined = False
    s.quotes = s.brackets = 0
    return 0


cdef int end_document(Scanner* self) noexcept nogil:
    """White space that no token keeps is counted."""
    cdef Sentences* s = &self.sentences
    if flush(self, self.scanned) < 0:
        return -1
    s.between += count_points(self.text.data + s.settled, self.scanned - s.settled)
    s.settled = self.space_start = self.last_break = self.scanned
    if self.scanned == self.size:
        self.size = self.checked = self.scanned = s.settled = self.space_start = self.last_break = 0
    return 0


cdef void forget(Scanner* self) noexcept nogil:
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

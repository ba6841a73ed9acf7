"""Text to chunks: where a stream is in its text."""

from libc.stdint cimport int64_t

from covington.arrow.buffers cimport Block
from covington.segmentation.sentences cimport Sentences
from covington.segmentation.tokens cimport Tokenizer
from covington.corpus.conllu.text_output cimport Output

cdef enum:
    DONE, FULL, REJECTED, SPACES, NO_MEMORY  # why it stopped
    PARAGRAPHS = 0, LINES_ARE_SENTENCES, LINES_ARE_DOCUMENTS, ROWS_ARE_DOCUMENTS


cdef struct Scanner:
    Tokenizer tokenizer
    Sentences sentences
    Block text
    Py_ssize_t size  # bytes in `text`
    Py_ssize_t checked  # up to here they are well-formed, and may be read
    Py_ssize_t cut  # up to here they are not, if the line is rejected
    Py_ssize_t scanned
    Py_ssize_t chunk_start  # -1 between chunks
    Py_ssize_t space_start  # of the white space that is being scanned
    Py_ssize_t last_break  # the place after the last line feed in it
    int64_t breaks  # line feeds in it
    bint has_content  # something other than white space came since the paragraph began
    int mode
    int64_t point  # code points of the document, at `scanned`
    int64_t chunk_point
    int64_t line  # at `scanned`
    Py_ssize_t batch_size  # sentences
    Output prefix  # of the names of documents
    Output name


cdef int new_document(Scanner* self) noexcept nogil
cdef int take_in(Scanner* self, const unsigned char* data, Py_ssize_t size, Py_ssize_t* at) noexcept nogil
cdef int check_line(Scanner* self, bint is_whole) noexcept nogil
cdef int scan(Scanner* self) noexcept nogil
cdef int end_chunk(Scanner* self, bint spaced) noexcept nogil
cdef int leave_space(Scanner* self, Py_ssize_t here) noexcept nogil
cdef int flush(Scanner* self, Py_ssize_t gap_end) noexcept nogil
cdef int end_document(Scanner* self) noexcept nogil
cdef void forget(Scanner* self) noexcept nogil

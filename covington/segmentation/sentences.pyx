"""Tokens to sentences: where each ends, and its columns."""

from libc.string cimport memset

from covington.arrow.buffers cimport Strings, append, release as release_block
from covington.characters.tables cimport CLOSE, EDGE, OPEN, QUOTE, SPACE, decode
from covington.segmentation.columns cimport clear, close_sentence, put_place
from covington.segmentation.core cimport Model
from covington.segmentation.features cimport Features, end_features
from covington.segmentation.linear cimport score
from covington.segmentation.tokens cimport finished
from covington.segmentation.words cimport MAX_WORD, Spelled, make_word, script_of
from covington.corpus.conllu.text_output cimport put, put_byte, put_number

cdef Token NO_TOKEN
memset(&NO_TOKEN, 0, sizeof(Token))
NO_TOKEN.first_class = NO_TOKEN.last_class = EDGE


cdef int64_t count_points(const unsigned char* text, Py_ssize_t size) noexcept nogil:
    """The code points of UTF-8; of a byte that is none, each counts as one."""
    cdef int64_t count = 0
    cdef Py_ssize_t at
    for at in range(size):
        count += (text[at] & 0xC0) != 0x80
    return count


cdef void release(Sentences* s) noexcept nogil:
    clear(&s.columns)
    release_block(&s.scratch.block)
    release_block(&s.sentence_text.block)


cdef inline Token* token_at(Tokenizer* t, Py_ssize_t place, Py_ssize_t count) noexcept nogil:
    return &t.tokens[place] if 0 <= place < count else &NO_TOKEN


cdef bint ends_here(Tokenizer* t, Sentences* s, Py_ssize_t place, Py_ssize_t count, int length) noexcept nogil:
    """What the model says of the end of a sentence after a token."""
    cdef Features features
    features.count = 0
    end_features(
        token_at(t, place - 2, count), token_at(t, place - 1, count), &t.tokens[place],
        token_at(t, place + 1, count), token_at(t, place + 2, count), token_at(t, place + 3, count),
        length, s.quotes, s.brackets, &features,
    )
    return score(&t.model.ends, &features) > t.model.end_threshold


cdef void pass_token(Sentences* s, Token* token, bint ends) noexcept nogil:
    """Open quotes and brackets of the sentence so far."""
    if ends:
        s.quotes = s.brackets = 0
    elif token.length == 1:
        if token.first_class == QUOTE:
            s.quotes += 1
        elif token.first_class == OPEN:
            s.brackets += 1
        elif token.first_class == CLOSE and s.brackets:
            s.brackets -= 1


cdef int make_sentences(
    Tokenizer* t, Sentences* s, const unsigned char* text, bint final, Py_ssize_t gap_end
) noexcept nogil:
    """All sentences that are sure to end; with `final` the paragraph ends, and white space after it at `gap_end`."""
    cdef Py_ssize_t count = finished(t)
    cdef bint ends
    while s.next < count - (0 if final else AHEAD):
        ends = (
            (final and s.next == count - 1)
            or s.next - s.start + 1 >= MAX_SENTENCE
            or t.tokens[s.next].end - t.tokens[s.start].start > MAX_SENTENCE_BYTES
            or (not s.is_whole_line and ends_here(t, s, s.next, count, <int>(s.next - s.start + 1)))
        )
        pass_token(s, &t.tokens[s.next], ends)
        s.next += 1
        if ends:
            if emit(t, s, text, count, gap_end) < 0:
                return -1
            s.start = s.next
    return 0


cdef inline int put_spaces(Output* out, const unsigned char* text, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
    """Characters with the escapes of MISC."""
    cdef Py_ssize_t at
    cdef int trouble = 0
    cdef char escape
    for at in range(start, end):
        escape = 0
        if text[at] == c" ":
            escape = c"s"
        elif text[at] == c"\t":
            escape = c"t"
        elif text[at] == c"\n":
            escape = c"n"
        elif text[at] == c"\r":
            escape = c"r"
        elif text[at] == c"|":
            escape = c"p"
        elif text[at] == c"\\":
            escape = c"\\"
        if escape:
            trouble |= put_byte(out, c"\\")
            trouble |= put_byte(out, escape)
        else:
            trouble |= put_byte(out, <char>text[at])
    return trouble


cdef inline int put_key(Output* out, const char* key, Py_ssize_t size) noexcept nogil:
    cdef int trouble = 0
    if out.size:
        trouble = put_byte(out, c"|")
    return trouble | put(out, key, size)


cdef int put_form(Output* out, Model* model, const unsigned char* text, Token* token, bint* is_plain) noexcept nogil:
    """The form of a token: white space inside is one space."""
    cdef Py_ssize_t at = token.start
    cdef int width = 1, trouble = 0
    cdef bint in_space = False, is_space
    is_plain[0] = True
    if token.length < 3:
        return put(out, <const char*>text + token.start, token.end - token.start)
    while at < token.end and trouble == 0:
        if c"!" <= text[at] <= 0x7E:
            trouble = put_byte(out, <char>text[at])
            in_space = False
            at += 1
            continue
        is_space = model.tables.classes[decode(text + at, &width)] == SPACE
        if not is_space:
            trouble = put(out, <const char*>text + at, width)
        else:
            is_plain[0] = is_plain[0] and not in_space and text[at] == c" "
            if not in_space:
                trouble = put_byte(out, c" ")
        in_space = is_space
        at += width
    return trouble


cdef inline int take(Strings* strings, Output* out) noexcept nogil:
    """Append what was put together; nothing is a null."""
    cdef const char* data = <const char*>out.block.data
    cdef int trouble = append(strings, data, data + out.size, out.size > 0, data + out.size)
    out.size = 0
    return trouble


cdef inline int put_comment(Strings* comments, const char* text, Py_ssize_t size) noexcept nogil:
    return append(comments, text, text + size, True, text + size)


cdef int put_names(Sentences* s) noexcept nogil:
    """The comments and the number of a sentence."""
    cdef Output* out = &s.scratch
    cdef int trouble = 0
    out.size = 0
    if s.has_document_mark:
        trouble |= put(out, b"newdoc", 6)
        if s.document_id_size:
            trouble |= put(out, b" id = ", 6)
            trouble |= put(out, s.document_id, s.document_id_size)
        trouble |= take(&s.columns.comments, out)
    if s.has_paragraph_mark:
        trouble |= put_comment(&s.columns.comments, b"newpar", 6)
    s.has_document_mark = s.has_paragraph_mark = False
    trouble |= put_comment(&s.columns.comments, b"__SENT_ID__", 11)
    trouble |= put_comment(&s.columns.comments, b"__TEXT__", 8)
    if s.document_id_size:
        trouble |= put(out, s.document_id, s.document_id_size)
        trouble |= put_byte(out, c"-")
    trouble |= put_number(out, <unsigned long>s.paragraph_of_document)
    trouble |= put_byte(out, c"-")
    trouble |= put_number(out, <unsigned long>s.sentence)
    return trouble | take(&s.columns.sent_id, out)


cdef int put_words(
    Tokenizer* t, Sentences* s, const unsigned char* text, Py_ssize_t place, Py_ssize_t count, Py_ssize_t first_word,
    Output* misc,
) noexcept nogil:
    """The words of a multiword token; 1 if there are some, 0 if it is one word, -1 without memory."""
    cdef Token* token = &t.tokens[place]
    cdef Spelled spelled
    cdef unsigned char words[64][MAX_WORD]
    cdef int sizes[64]
    cdef Model* model = t.model
    cdef int i, parts
    cdef int trouble = 0
    cdef Py_ssize_t word = s.columns.tokens.count
    cdef int script = script_of(
        model, text, token_at(t, place - 1, count), token, token_at(t, place + 1, count), &spelled
    )
    if script < 0:
        return 0
    parts = model.script_starts[script + 1] - model.script_starts[script]
    for i in range(parts):
        sizes[i] = make_word(model, &model.parts[model.script_starts[script] + i], i == 0, &spelled, words[i])
        if sizes[i] < 0:
            return 0
    if parts < 2:
        return 0
    for i in range(parts):
        trouble |= append(
            &s.columns.tokens, <char*>words[i], <char*>words[i] + sizes[i], True, <char*>words[i] + MAX_WORD
        )
        trouble |= append(&s.columns.misc, NULL, NULL, False, NULL)
        trouble |= put_place(&s.columns, word + i, token.first_point, token.last_point)
    s.scratch.size = 0
    trouble |= put_number(&s.scratch, word - first_word + 1)
    trouble |= put_byte(&s.scratch, c"-")
    trouble |= put_number(&s.scratch, word - first_word + parts)
    trouble |= take(&s.columns.range_ids, &s.scratch)
    trouble |= take(&s.columns.range_misc, misc)
    return -1 if trouble else 1


cdef int emit(
    Tokenizer* t, Sentences* s, const unsigned char* text, Py_ssize_t count, Py_ssize_t gap_end
) noexcept nogil:
    """The tokens from s.start to s.next are a sentence."""
    cdef Py_ssize_t place, gap, form_start, first_word = s.columns.tokens.count
    cdef Output* line = &s.sentence_text
    cdef Output* misc = &s.scratch
    cdef Output several  # MISC of a token while its words are made
    cdef Token* token
    cdef bint is_plain = True
    cdef int trouble = 0, made = 0
    cdef const char* form
    trouble = put_names(s)
    line.size = 0
    memset(&several, 0, sizeof(Output))
    for place in range(s.start, s.next):
        token = &t.tokens[place]
        gap = t.tokens[place + 1].start if place + 1 < t.token_count else gap_end
        form_start = line.size
        trouble |= put_form(line, t.model, text, token, &is_plain)
        misc.size = 0
        if gap == token.end:
            trouble |= put_key(misc, b"SpaceAfter=No", 13)
        if token.start > s.settled:
            trouble |= put_key(misc, b"SpacesBefore=", 13)
            trouble |= put_spaces(misc, text, s.settled, token.start)
            s.between += count_points(text + s.settled, token.start - s.settled)
        if gap > token.end:
            if gap - token.end > 1 or text[token.end] != c" ":
                trouble |= put_key(misc, b"SpacesAfter=", 12)
                trouble |= put_spaces(misc, text, token.end, gap)
            s.between += count_points(text + token.end, gap - token.end)
        if not is_plain:
            trouble |= put_key(misc, b"SpacesInToken=", 14)
            trouble |= put_spaces(misc, text, token.start, token.end)
        s.settled = gap
        s.in_tokens += token.last_point - token.first_point
        if trouble:
            return -1
        form = <const char*>line.block.data + form_start
        made = 0
        if t.model.has_words:
            several, s.scratch = s.scratch, several
            made = put_words(t, s, text, place, count, first_word, &several)
            several, s.scratch = s.scratch, several
            if made > 0:
                trouble = append(
                    &s.columns.range_forms, form, form + line.size - form_start, True, <char*>line.block.data + line.size
                )
        if made == 0:
            trouble |= put_place(&s.columns, s.columns.tokens.count, token.first_point, token.last_point)
            trouble |= append(
                &s.columns.tokens, form, form + line.size - form_start, True, <char*>line.block.data + line.size
            )
            trouble |= take(&s.columns.misc, misc)
        if gap > token.end and place + 1 < s.next:
            trouble |= put_byte(line, c" ")
        if trouble or made < 0:
            release_block(&several.block)
            return -1
    release_block(&several.block)
    s.columns.bytes += line.size
    trouble = take(&s.columns.text, line)
    s.sentence += 1
    return trouble | close_sentence(&s.columns, s.paragraph, t.tokens[s.start].line, s.document)

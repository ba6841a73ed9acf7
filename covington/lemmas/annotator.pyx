"""Arrow batches of words and tags to the same batches with lemmas; the interpreter is not held."""

from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy, memset

import pyarrow as pa

from covington.arrow.buffers cimport Block, Strings, append, buffer_of, release, release_strings, reserve, string_array
from covington.arrow.views cimport ListView, StringView, is_valid, view_list, view_strings
from covington.base.hashing cimport hash_bytes, mix
from covington.lemmas.choice cimport Scratch, choose
from covington.lemmas.features cimport Word, read_word
from covington.lemmas.model cimport MAX_FORM, Core, Model, apply_script
from covington.corpus.conllu.text_scan cimport invalid_utf8

from covington.errors import DataError
from covington.corpus.locations import data_error

cdef enum:
    MEMO = 8192  # words that are remembered
    TOO_MANY = 2


cdef struct Column:
    ListView lists
    StringView values


cdef class Workspace:
    """What one thread needs while it annotates; the memo stays warm from batch to batch."""

    def __cinit__(self, Core core not None):
        memset(&self.scratch, 0, sizeof(Scratch))
        self.memo = <Entry*>calloc(MEMO, sizeof(Entry))
        self.scratch.scores = <int32_t*>calloc(core.model.script_count, sizeof(int32_t))
        self.scratch.stamps = <uint32_t*>calloc(core.model.script_count, sizeof(uint32_t))
        self.scratch.touched = <int32_t*>calloc(core.model.script_count, sizeof(int32_t))
        if not (self.memo and self.scratch.scores and self.scratch.stamps and self.scratch.touched):
            raise MemoryError

    def __dealloc__(self):
        free(self.memo)
        free(self.scratch.scores)
        free(self.scratch.stamps)
        free(self.scratch.touched)


cdef inline uint64_t value_hash(Column* column, Py_ssize_t place) noexcept nogil:
    """The hash of a value; of nothing, 0."""
    if place < 0 or not is_valid(column.values.valid, column.values.valid_from, place):
        return 0
    return hash_bytes(
        <const uint8_t*>column.values.data + column.values.offsets[place],
        column.values.offsets[place + 1] - column.values.offsets[place],
    )


cdef inline Py_ssize_t first_of(Column* column, Py_ssize_t row, Py_ssize_t words) noexcept nogil:
    """Where the values of a sentence begin; -1 if the column is empty there."""
    if column.lists.length == 0 or not is_valid(column.lists.valid, column.lists.valid_from, row):
        return -1
    if column.lists.offsets[row + 1] - column.lists.offsets[row] != words:
        return -1
    return column.lists.offsets[row]


cdef inline bint is_given(Column* lemmas, Py_ssize_t first, Py_ssize_t words) noexcept nogil:
    cdef Py_ssize_t i
    if first < 0:
        return False
    for i in range(first, first + words):
        if is_valid(lemmas.values.valid, lemmas.values.valid_from, i):
            return True
    return False


cdef class Annotator:
    """Puts lemmas into batches."""

    cdef Core core
    cdef list workspaces
    cdef bint with_xpos
    cdef bint with_feats

    def __cinit__(self, Core core not None):
        self.core = core
        self.workspaces = []
        self.with_xpos = "xpos" in core.metadata["tags"]
        self.with_feats = "feats" in core.metadata["tags"]

    def annotate(self, batch, bint replace=False):
        """The batch with a lemma for every word of the sentences that have none, or with `replace` of all sentences."""
        cdef Column tokens, upos, xpos, feats, lemmas
        cdef Strings out
        cdef Block ends
        cdef Workspace space
        cdef Py_ssize_t rows = batch.num_rows
        cdef int outcome
        cdef Py_ssize_t row = 0
        view_column(batch, "tokens", &tokens)
        view_column(batch, "upos", &upos)
        view_column(batch, "xpos", &xpos)
        view_column(batch, "feats", &feats)
        view_column(batch, "lemmas", &lemmas)
        memset(&out, 0, sizeof(Strings))
        memset(&ends, 0, sizeof(Block))
        try:
            space = self.workspaces.pop()
        except IndexError:
            space = Workspace(self.core)
        with nogil:
            outcome = self.run(&tokens, &upos, &xpos, &feats, &lemmas, &out, &ends, space, rows, replace, &row)
        self.workspaces.append(space)
        if outcome:
            release_strings(&out)
            release(&ends)
            if outcome == TOO_MANY:
                raise data_error(batch, row, "its lemmas do not fit into a batch: give smaller ones")
            raise MemoryError
        offsets = buffer_of(&ends, (rows + 1) * sizeof(int32_t))
        values = string_array(&out, True)
        array = pa.Array.from_buffers(pa.list_(pa.string()), rows, [None, offsets], 0, 0, [values])
        place = batch.schema.get_field_index("lemmas")
        field = pa.field("lemmas", pa.list_(pa.string()))
        return batch.append_column(field, array) if place < 0 else batch.set_column(place, batch.schema.field(place), array)

    cdef int run(
        self, Column* tokens, Column* upos, Column* xpos, Column* feats, Column* lemmas, Strings* out, Block* ends,
        Workspace space, Py_ssize_t rows, bint replace, Py_ssize_t* row,
    ) noexcept nogil:
        cdef Py_ssize_t first, words, upos_first, xpos_first, feats_first, given, i, place
        cdef uint64_t tag, tags
        cdef const char* start
        cdef int size
        if reserve(ends, (rows + 1) * <Py_ssize_t>sizeof(int32_t)) < 0:
            return 1
        (<int32_t*>ends.data)[0] = 0
        while row[0] < rows:
            first = tokens.lists.offsets[row[0]] if is_valid(tokens.lists.valid, tokens.lists.valid_from, row[0]) else 0
            words = tokens.lists.offsets[row[0] + 1] - first if first or is_valid(
                tokens.lists.valid, tokens.lists.valid_from, row[0]) else 0
            given = first_of(lemmas, row[0], words)
            if replace or not is_given(lemmas, given, words):
                given = -1
            upos_first, xpos_first = first_of(upos, row[0], words), first_of(xpos, row[0], words)
            feats_first = first_of(feats, row[0], words)
            for i in range(words):
                if out.size > 2000000000:
                    return TOO_MANY
                if given >= 0:
                    place = given + i
                    start = lemmas.values.data
                    if append(
                        out, start + lemmas.values.offsets[place], start + lemmas.values.offsets[place + 1],
                        is_valid(lemmas.values.valid, lemmas.values.valid_from, place),
                        start + lemmas.values.offsets[lemmas.values.length],
                    ) < 0:
                        return 1
                    continue
                place = first + i
                tag = value_hash(upos, upos_first + i if upos_first >= 0 else -1)
                tags = tag
                if self.with_xpos:
                    tags = mix(tags, value_hash(xpos, xpos_first + i if xpos_first >= 0 else -1))
                if self.with_feats:
                    tags = mix(tags, value_hash(feats, feats_first + i if feats_first >= 0 else -1))
                start = tokens.values.data + tokens.values.offsets[place]
                size = tokens.values.offsets[place + 1] - tokens.values.offsets[place]
                if self.put_lemma(out, <const unsigned char*>start, size, tag, tags, space) < 0:
                    return 1
            (<int32_t*>ends.data)[row[0] + 1] = <int32_t>out.count
            row[0] += 1
        return 0

    cdef int put_lemma(
        self, Strings* out, const unsigned char* form, int size, uint64_t tag, uint64_t tags, Workspace space
    ) noexcept nogil:
        cdef Model* model = &self.core.model
        cdef Scratch* s = &space.scratch
        cdef Word word
        cdef Entry* entry
        cdef int32_t script
        cdef int made
        if size == 0 or size > MAX_FORM or invalid_utf8(<const char*>form, <const char*>form + size) != <const char*>form + size:
            return append(out, <const char*>form, <const char*>form + size, True, <const char*>form + size)
        word.hash, word.tag, word.tags = hash_bytes(form, size), tag, tags
        entry = &space.memo[mix(word.hash, tags) >> 20 & (MEMO - 1)]
        if entry.size == size and entry.tags == tags and memcmp(entry.form, form, size) == 0:
            script = entry.script
        else:
            read_word(&model.tables, form, size, &word)
            script = choose(model, s, &word, form, size)
            if size <= MEMO_BYTES:
                memcpy(entry.form, form, size)
                entry.size, entry.tags, entry.script = size, tags, script
        made = apply_script(model, script, form, size, s.lemma, s.raised)
        return append(out, <char*>s.lemma, <char*>s.lemma + made, True, <char*>s.lemma + sizeof(s.lemma))


cdef int view_column(object batch, str name, Column* column) except -1:
    memset(column, 0, sizeof(Column))
    place = batch.schema.get_field_index(name)
    if place < 0:
        if name == "tokens":
            raise DataError("there is no column 'tokens' (a list of words per sentence)")
        return 0
    array = batch.column(place)
    if pa.types.is_null(array.type):
        return 0
    view_list(array, &column.lists)
    view_strings(array.values, &column.values)
    return 0

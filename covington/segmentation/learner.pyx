"""Epochs over gold text: the four models of a segmenter, one question after the other."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint64_t
from libc.string cimport memset

import numpy as np

from covington.characters.tables cimport EDGE, SPACE, decode
from covington.base.hashing cimport finish, mix
from covington.segmentation cimport tokens
from covington.segmentation.chunks cimport MAX_CHUNK, SPLIT_ASK, decode_chunk
from covington.segmentation.core cimport Core
from covington.segmentation.features cimport (
    Border, Features, Token, border, describe, end_features, is_spaceless, join_features, spaceless_features,
    split_features, trailing_features, words_features,
)
from covington.segmentation.linear cimport Trained, drop, learn, score
from covington.segmentation.sentences cimport Sentences, ends_here, pass_token
from covington.segmentation.tokens cimport Chunk, Tokenizer, add_chunk, add_token
from covington.segmentation.words cimport FORM, PREFIX, SUFFIX, Spelled, known_script, nonzero, script_by_affix, spell


cdef class Step:
    """Weights of one question while they are learnt: how far a step goes, in 1/65536, and how many features it leaves out."""

    cdef Trained trained
    cdef int32_t rate
    cdef int dropped
    cdef uint64_t seed
    cdef object arrays

    def __cinit__(self, int32_t[::1] weights, const uint16_t[::1] curve, *, int32_t rate, int dropped, uint64_t seed):
        size = len(weights)
        self.arrays = weights, curve
        self.trained.weights = &weights[0]
        self.trained.curve = &curve[0]
        self.trained.shift = 64 - (size - 1).bit_length()
        self.rate, self.dropped, self.seed = rate, dropped, seed

    cdef void take(self, Features* features, bint answer, uint64_t place) noexcept nogil:
        drop(features, mix(self.seed, place), self.dropped)
        learn(&self.trained, features, answer, self.rate)


cdef class Learner:
    """Gold text, cut into chunks and tokens, in memory."""

    cdef Core core
    cdef Tokenizer tokenizer
    cdef Sentences state
    cdef const unsigned char[::1] text
    cdef const uint8_t[::1] sentence_ends
    cdef const uint8_t[::1] paragraph_ends
    cdef object starts_here  # per byte: a token starts
    cdef object chunk_ends  # per chunk: it is the last of a paragraph
    cdef object state_before  # per token: its number in the sentence, open quotes, open brackets

    def __cinit__(self, Core core not None, gold):
        cdef const int64_t[::1] starts = gold.starts, ends = gold.ends
        cdef Py_ssize_t i
        memset(&self.tokenizer, 0, sizeof(Tokenizer))
        memset(&self.state, 0, sizeof(Sentences))
        self.core = core
        self.text = gold.text
        self.sentence_ends = gold.sentence_ends
        self.paragraph_ends = gold.paragraph_ends
        if tokens.start(&self.tokenizer, &core.model) < 0:
            raise MemoryError
        here = np.zeros(len(gold.text) + 1, np.uint8)
        here[gold.starts] = 1
        self.starts_here = here
        self._cut_chunks(gold)
        for i in range(starts.shape[0]):
            self._add_token(starts[i], ends[i])
            self.tokenizer.tokens[i].spaced = i + 1 < starts.shape[0] and starts[i + 1] > ends[i]
        self._note_states()

    def __dealloc__(self):
        tokens.release(&self.tokenizer)

    @property
    def chunks(self) -> int:
        return self.tokenizer.chunk_count

    @property
    def tokens(self) -> int:
        return self.tokenizer.token_count

    cdef _add_token(self, Py_ssize_t start, Py_ssize_t end):
        cdef Token* token
        if add_token(&self.tokenizer) < 0:
            raise MemoryError
        token = &self.tokenizer.tokens[self.tokenizer.token_count - 1]
        memset(token, 0, sizeof(Token))
        token.start, token.end = start, end
        describe(&self.core.model.tables, &self.text[0], token)

    cdef _cut_chunks(self, gold):
        """Chunks as the stream would find them; a token that holds a space goes over several."""
        cdef Py_ssize_t at = 0, size = self.text.shape[0], start = -1
        cdef int width = 1
        cdef bint is_space
        while at < size:
            is_space = self.core.model.tables.classes[decode(&self.text[at], &width)] == SPACE
            if start >= 0 and (is_space or at - start >= MAX_CHUNK - 4):
                self._add_chunk(start, at)
                start = -1
            if not is_space and start < 0:
                start = at
            at += width
        ends = np.array([self.tokenizer.chunks[i].end for i in range(self.tokenizer.chunk_count)], np.int64)
        self.chunk_ends = np.isin(ends, gold.ends[gold.paragraph_ends != 0]).astype(np.uint8)

    cdef _add_chunk(self, Py_ssize_t start, Py_ssize_t end):
        cdef Chunk chunk
        memset(&chunk, 0, sizeof(Chunk))
        chunk.start, chunk.end, chunk.spaced = start, end, True
        if add_chunk(&self.tokenizer, chunk) < 0:
            raise MemoryError

    cdef _note_states(self):
        cdef Py_ssize_t i, length = 1
        cdef int32_t[:, ::1] states
        noted = np.zeros((self.tokenizer.token_count, 3), np.int32)
        states = noted
        for i in range(self.tokenizer.token_count):
            states[i, 0], states[i, 1], states[i, 2] = length, self.state.quotes, self.state.brackets
            pass_token(&self.state, &self.tokenizer.tokens[i], self.sentence_ends[i])
            length = 1 if self.sentence_ends[i] else length + 1
        self.state_before = noted

    cdef Border border_of(self, Py_ssize_t place):
        cdef Chunk* chunk = &self.tokenizer.chunks[place]
        return border(&self.core.model.tables, &self.text[0] + chunk.start, chunk.end - chunk.start)

    def learn_splits(self, const int64_t[::1] order, Step step) -> None:
        """One epoch over the chunks: where tokens begin."""
        cdef const uint8_t[::1] here = self.starts_here, last = self.chunk_ends
        cdef Features features
        cdef Border next
        cdef Chunk* chunk
        cdef Py_ssize_t at, place
        cdef int i, start
        for at in range(order.shape[0]):
            place = order[at]
            chunk = &self.tokenizer.chunks[place]
            decode_chunk(&self.tokenizer.decoded, &self.core.model.tables, &self.text[0] + chunk.start, chunk.end - chunk.start)
            next = border(&self.core.model.tables, &self.text[0], 0) if last[place] else self.border_of(place + 1)
            start = 0
            for i in range(1, self.tokenizer.decoded.count):
                if here[chunk.start + self.tokenizer.decoded.offsets[i - 1]]:
                    start = i - 1
                if self.tokenizer.decoded.splits[i] != SPLIT_ASK:
                    continue
                features.count = 0
                split_features(&self.tokenizer.decoded, i, &features)
                if is_spaceless(&self.tokenizer.decoded, i):
                    spaceless_features(&self.tokenizer.decoded, i, start, &features)
                if i >= self.tokenizer.decoded.core_end:
                    trailing_features(
                        self.tokenizer.decoded.left[self.tokenizer.decoded.core_end], self.tokenizer.decoded.core_end,
                        self.tokenizer.decoded.classes[self.tokenizer.decoded.core_end - 1],
                        self.tokenizer.decoded.points[i], self.tokenizer.decoded.count - i, &next, &features,
                    )
                step.take(&features, here[chunk.start + self.tokenizer.decoded.offsets[i]], mix(place, i))

    def learn_joins(self, const int64_t[::1] order, Step step) -> None:
        """One epoch over the spaces between chunks: which are part of a token."""
        cdef const uint8_t[::1] here = self.starts_here, last = self.chunk_ends
        cdef Border none = border(&self.core.model.tables, &self.text[0], 0)
        cdef Border before, left, right, after
        cdef Features features
        cdef Py_ssize_t at, place
        cdef bint is_first, joined
        for at in range(order.shape[0]):
            place = order[at]
            if last[place]:
                continue
            is_first = place == 0 or last[place - 1]
            before = none if is_first else self.border_of(place - 1)
            left, right = self.border_of(place), self.border_of(place + 1)
            after = none if last[place + 1] else self.border_of(place + 2)
            joined = not is_first and not here[self.tokenizer.chunks[place].start]
            features.count = 0
            join_features(&before, &left, &right, &after, joined, &features)
            step.take(&features, not here[self.tokenizer.chunks[place + 1].start], place)

    def learn_ends(self, const int64_t[::1] order, Step step) -> None:
        """One epoch over the tokens: after which a sentence ends; where a paragraph does, there is nothing to learn."""
        cdef const int32_t[:, ::1] states = self.state_before
        cdef Features features
        cdef Token none
        cdef Token* near[6]
        cdef Py_ssize_t at, place, i
        none_token(&none)
        for at in range(order.shape[0]):
            place = order[at]
            if self.paragraph_ends[place]:
                continue
            self.neighbours(place, near, &none)
            features.count = 0
            end_features(
                near[0], near[1], near[2], near[3], near[4], near[5], states[place, 0], states[place, 1],
                states[place, 2], &features,
            )
            step.take(&features, self.sentence_ends[place], place)

    cdef void neighbours(self, Py_ssize_t place, Token** near, Token* none) noexcept:
        """Two tokens before, the token, three after it; only those of its paragraph."""
        cdef Py_ssize_t i
        cdef Py_ssize_t count = self.tokenizer.token_count
        for i in range(6):
            near[i] = none
        near[2] = &self.tokenizer.tokens[place]
        for i in range(1, 3):
            if place - i < 0 or self.paragraph_ends[place - i]:
                break
            near[2 - i] = &self.tokenizer.tokens[place - i]
        for i in range(1, 4):
            if place + i >= count or self.paragraph_ends[place + i - 1]:
                break
            near[2 + i] = &self.tokenizer.tokens[place + i]

    def learn_words(
        self, const int64_t[::1] order, const int32_t[::1] scripts, Step step, bint as_unknown) -> None:
        """One epoch over tokens that may stand for several words, as the forms tell or as if they were unknown."""
        cdef Features features
        cdef Spelled spelled
        cdef Token none
        cdef Token* near[6]
        cdef Py_ssize_t at, place
        cdef int32_t script
        cdef bint in_context, is_sure
        none_token(&none)
        for at in range(order.shape[0]):
            place = order[at]
            if not spell(&self.core.model.tables, &self.text[0], &self.tokenizer.tokens[place], &spelled):
                continue
            if as_unknown:
                script, in_context, is_sure = script_by_affix(&self.core.model, &spelled), False, False
            else:
                script = known_script(&self.core.model, &self.tokenizer.tokens[place], &spelled, &in_context, &is_sure)
            if script < 0 or is_sure or in_context == as_unknown:
                continue
            self.neighbours(place, near, &none)
            features.count = 0
            words_features(near[1], near[2], near[3], script, in_context, &features)
            step.take(&features, scripts[place] == script, place)

    def guessed_words(self, const int64_t[::1] places) -> list:
        """Those of the tokens that would get a script by their endings, were they unknown."""
        cdef Features features
        cdef Spelled spelled
        cdef Token none
        cdef Token* near[6]
        cdef Py_ssize_t at
        cdef int32_t script
        none_token(&none)
        guessed = []
        for at in range(places.shape[0]):
            if not spell(&self.core.model.tables, &self.text[0], &self.tokenizer.tokens[places[at]], &spelled):
                continue
            script = script_by_affix(&self.core.model, &spelled)
            if script < 0:
                continue
            self.neighbours(places[at], near, &none)
            features.count = 0
            words_features(near[1], near[2], near[3], script, False, &features)
            if score(&self.core.model.words, &features) > 0:
                guessed.append(places[at])
        return guessed

    def form_keys(self):
        """Per token the key of its form, in lower case."""
        cdef Py_ssize_t i
        return [nonzero(finish(mix(FORM, self.tokenizer.tokens[i].hash))) for i in range(self.tokenizer.token_count)]

    def count_sentences(self, int32_t threshold, const uint8_t[::1] where) -> tuple[int, int, int]:
        """Sentences found that are right, all that were found, and all that there are, if the tokens are given.

        Only those count that end with a token of `where`.
        """
        cdef Py_ssize_t i, first = 0, gold_start = 0, start = 0, right = 0, found = 0, gold = 0, end
        cdef Tokenizer part
        cdef Sentences state
        cdef bint ends
        cdef int32_t before = self.core.model.end_threshold
        memset(&state, 0, sizeof(Sentences))
        self.core.model.end_threshold = threshold
        part = self.tokenizer
        for i in range(self.tokenizer.token_count):
            if i == 0 or self.paragraph_ends[i - 1]:
                first = i
                end = i
                while not self.paragraph_ends[end]:
                    end += 1
                part.tokens = self.tokenizer.tokens + first
                part.token_count = end + 1 - first
            ends = self.paragraph_ends[i] or ends_here(&part, &state, i - first, part.token_count, <int>(i - start + 1))
            pass_token(&state, &self.tokenizer.tokens[i], ends)
            if ends:
                found += where[i]
                right += where[i] and self.sentence_ends[i] and gold_start == start
                start = i + 1
            if self.sentence_ends[i]:
                gold += where[i]
                gold_start = i + 1
        self.core.model.end_threshold = before
        return right, found, gold


cdef void none_token(Token* token) noexcept nogil:
    memset(token, 0, sizeof(Token))
    token.first_class = token.last_class = EDGE


def affix_keys(str lower) -> list:
    """The keys of all endings and beginnings of a form in lower case, the longest first, an ending before a beginning."""
    cdef uint64_t state
    keys = []
    for length in range(min(6, len(lower) - 1), 0, -1):
        for first, characters in ((SUFFIX, lower[: -length - 1 : -1]), (PREFIX, lower[:length])):
            state = first
            for character in characters:
                state = mix(state, <uint64_t>ord(character))
            keys.append(nonzero(finish(state)))
    return keys


def form_key(str lower) -> int:
    """The key of a form in lower case."""
    cdef uint64_t state = 0
    for character in lower:
        state = mix(state, <uint64_t>ord(character))
    return nonzero(finish(mix(FORM, state)))

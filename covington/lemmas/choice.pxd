"""Which script a word gets: an exception of the training data, or the one that scores best and fits."""

from libc.stdint cimport int16_t, int32_t, uint16_t, uint32_t, uint64_t

from covington.lemmas.features cimport Features, Word, lemma_features
from covington.lemmas.model cimport MAX_LEMMA, NONE, Model, apply_script, exact_key, find

cdef enum:
    MAX_TRIES = 64  # scripts that are tried before the word is its own lemma
    IMPOSSIBLE = -2147483647


cdef struct Scratch:
    int32_t* scores  # per script
    uint32_t* stamps  # of the word that a score belongs to
    int32_t* touched  # scripts that have a score
    int count
    uint32_t stamp
    unsigned char lemma[MAX_LEMMA]
    unsigned char raised[MAX_LEMMA]


cdef inline void begin(Scratch* s) noexcept nogil:
    """The next word; stamps of words before it are not taken for its own."""
    s.stamp += 1
    s.count = 0


cdef inline void touch(Scratch* s, int32_t script, int32_t weight) noexcept nogil:
    if s.stamps[script] != s.stamp:
        s.stamps[script] = s.stamp
        s.scores[script] = 0
        s.touched[s.count] = script
        s.count += 1
    s.scores[script] += weight


cdef inline int32_t best(Scratch* s) noexcept nogil:
    """The script with the highest score, of several the first; NONE if there is none left."""
    cdef int32_t chosen = NONE, score = IMPOSSIBLE, script
    cdef int i
    for i in range(s.count):
        script = s.touched[i]
        if s.scores[script] > score or (s.scores[script] == score and score != IMPOSSIBLE and script < chosen):
            chosen, score = script, s.scores[script]
    return chosen


cdef inline int32_t best_fitting(Model* model, Scratch* s, const unsigned char* form, int size) noexcept nogil:
    """The best script that fits the word; its lemma is in the scratch. The first script fits always."""
    cdef int32_t script
    cdef int i
    for i in range(MAX_TRIES):
        script = best(s)
        if script == NONE:
            break
        if apply_script(model, script, form, size, s.lemma, s.raised) > 0:
            return script
        s.scores[script] = IMPOSSIBLE
    return 0


cdef inline int32_t choose(Model* model, Scratch* s, Word* word, const unsigned char* form, int size) noexcept nogil:
    cdef Features features
    cdef int32_t script, row, entry
    cdef int i
    for i in range(2):
        script = find(
            model.exception_keys, model.exception_values, model.exception_mask, exact_key(word, i == 0)
        )
        if script != NONE and apply_script(model, script, form, size, s.lemma, s.raised) > 0:
            return script
    lemma_features(word, &features)
    begin(s)
    for i in range(features.count):
        row = find(model.feature_keys, model.feature_rows, model.feature_mask, features.keys[i])
        if row == NONE:
            continue
        for entry in range(model.row_starts[row], model.row_starts[row + 1]):
            touch(s, model.entry_scripts[entry], model.entry_weights[entry])
    return best_fitting(model, s, form, size)

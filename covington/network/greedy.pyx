"""The greedy loop of the network: which action, which relation, by sums of rows of integers."""

from libc.stdint cimport int16_t, int32_t, int64_t, uint32_t
from libc.string cimport memcpy

from covington.network.actions cimport ACTIONS, ROWS, SLOTS, label_distance, locate
from covington.network.integers cimport MARGINS, Integers
from covington.transition.configuration cimport Configuration, attach, label_at, set_label
from covington.transition.system cimport CHOICE, FINAL, Arc, Moves, System, bit

cdef enum:
    MAX_HIDDEN_WIDTH = 1024
    MAX_LABELS = 4096
    NEVER = -0x7FFFFFFF


cdef inline const int16_t *row_of(const Projected *s, int word) noexcept nogil:
    return s.rows + (s.starts[word - 1] + s.number) * s.row


cdef int best_label(const Integers *w, const Projected *s, int head, int dependent) noexcept nogil:
    cdef int16_t hidden[MAX_HIDDEN_WIDTH + 1]
    cdef int32_t scores[MAX_LABELS + 16]
    cdef const int16_t *rows[3]
    cdef int k, best = 0
    rows[0] = row_of(s, head) + SLOTS * w.slot
    rows[1] = row_of(s, dependent) + SLOTS * w.slot + w.label
    rows[2] = w.label_tables + label_distance(head, dependent) * w.label
    w.kernels.hidden(rows, 3, w.label, hidden)
    hidden[w.label] = 0
    memcpy(scores, w.label_bias, w.label_columns * sizeof(int32_t))
    w.kernels.label_scores(hidden, w.label_weights, w.label + w.label % 2, w.label_columns, scores)
    for k in range(1, w.labels):
        if scores[k] > scores[best]:
            best = k
    return best


cdef int best_action(const Integers *w, Configuration *c, uint32_t allowed, const Projected *s, float *chance) noexcept nogil:
    """The best action that the system allows and, where it is wanted, how likely it is, by its margin."""
    cdef int16_t hidden[MAX_HIDDEN_WIDTH]
    cdef const int16_t *rows[SLOTS + ROWS]
    cdef int32_t words[SLOTS]
    cdef int32_t tables[ROWS]
    cdef int32_t score, highest = NEVER, second = NEVER
    cdef int k, best = -1
    locate(c, <int>w.labels, words, tables)
    for k in range(SLOTS):
        if words[k]:
            rows[k] = row_of(s, words[k]) + k * w.slot
        else:
            rows[k] = w.slot_tables + k * w.slot
    for k in range(ROWS):
        rows[SLOTS + k] = w.slot_tables + tables[k] * w.slot
    w.kernels.hidden(rows, SLOTS + ROWS, w.slot, hidden)
    for k in range(ACTIONS):
        if not allowed & bit(k):
            continue
        score = w.kernels.dot(hidden, w.action_weights + k * w.slot, w.slot) + w.action_bias[k]
        if best < 0 or score > highest:
            second = highest
            best, highest = k, score
        elif score > second:
            second = score
    if chance != NULL:
        chance[0] = w.confidence[min(MARGINS - 1, <int>((<float>highest - <float>second) * w.margin_unit))]
    return best


cdef void parse(const Integers *w, System system, Configuration *c, const Projected *s, int n, bint single_root, int32_t *heads,
                int32_t *labels, float *confidence) noexcept nogil:
    """The greedy loop over one sentence."""
    cdef int word, action, label, root = 0
    cdef Arc arc
    cdef float chance = 0
    cdef float *wanted = NULL if confidence == NULL else &chance
    system.start(c, n)
    action = system.forced(c)
    while action != FINAL:
        label = -1
        if action == CHOICE:
            action = best_action(w, c, system.moves(c).allowed, s, wanted)
            if action >= system.unlabelled:
                arc = system.arc(c, action)
                label = best_label(w, s, arc.head, arc.dependent)
                if wanted != NULL:
                    confidence[arc.dependent - 1] = chance
        system.apply(c, action, label)
        action = system.forced(c)
    # a tree of the forest: the first word without a head is the root
    for word in range(n, 0, -1):
        if c.head[word] < 1:
            root = word
    for word in range(1, n + 1):
        if c.head[word] > 0:
            continue
        if word == root or not single_root:
            set_label(c, word, w.root_label)
        else:
            attach(c, word, root, best_label(w, s, root, word))
    for word in range(1, n + 1):
        heads[word - 1] = c.head[word]
        labels[word - 1] = label_at(c, word)

"""What the action scorer sees of a configuration: nine words by their slots, and six rows of small tables."""

from libc.stdint cimport int32_t

from covington.transition.configuration cimport Configuration, is_ancestor, label_at

cdef enum:
    SLOTS = 9
    ACTIONS = 4
    ROWS = 6                        # of tables, besides those for empty slots
    LONGEST_DISTANCE = 20
    BOUND = 4                       # counts from 0 to 3 and more

# Where the tables begin. A slot without a word has a row of its own; the first table is the bias.
cdef enum:
    BIAS_ROW = SLOTS
    DISTANCE_ROW = BIAS_ROW + 1
    VALENCY_ROW = DISTANCE_ROW + 9 * LONGEST_DISTANCE
    OPEN_ROW = VALENCY_ROW + BOUND * BOUND * BOUND
    LABEL_ROW = OPEN_ROW + 4 * BOUND        # of i and then of j, 0 for none


cdef inline int table_rows(int labels) noexcept nogil:
    return LABEL_ROW + 2 * (labels + 1)


cdef inline int word_or_none(const Configuration *c, int word) noexcept nogil:
    return 0 if word < 1 or word > c.n else word


cdef inline int bounded(int count) noexcept nogil:
    return count if count < BOUND else BOUND - 1


cdef inline int headed(const Configuration *c, int word, int other) noexcept nogil:
    """0: the word has no head; 1: it has one; 2: and is a descendant of the other focus word."""
    if c.head[word] < 1:
        return 0
    return 2 if is_ancestor(c.head, other, word) else 1


cdef inline void locate(const Configuration *c, int labels, int32_t *slots, int32_t *rows) noexcept nogil:
    """The words of the slots, 0 for none, and the rows of the tables; both focus words are words."""
    cdef int i = c.i, j = c.j, word, open_words = 0, distance = j - i
    slots[0] = i
    slots[1] = j
    slots[2] = word_or_none(c, c.head[i])
    slots[3] = word_or_none(c, c.head[j])
    slots[4] = word_or_none(c, c.left_farthest[i])
    slots[5] = word_or_none(c, c.right_farthest[i])
    slots[6] = word_or_none(c, c.left_farthest[j])
    slots[7] = word_or_none(c, c.left_nearest[j])
    slots[8] = word_or_none(c, j + 1)
    if distance > LONGEST_DISTANCE:
        distance = LONGEST_DISTANCE
    rows[0] = BIAS_ROW
    rows[1] = DISTANCE_ROW + 9 * (distance - 1) + 3 * headed(c, i, j) + headed(c, j, i)
    rows[2] = VALENCY_ROW + BOUND * (BOUND * bounded(<int>c.relations[i].left_valency)
                                     + bounded(<int>c.relations[i].right_valency)) + bounded(
                                         <int>c.relations[j].left_valency)
    word = c.open_first
    while word != c.nobody and open_words < BOUND - 1:
        open_words += 1
        word = c.open_next[word]
    rows[3] = OPEN_ROW + 4 * open_words + 2 * (c.open_first == i + 1) + (c.open_last == j - 1)
    rows[4] = LABEL_ROW + 1 + label_at(c, i)
    rows[5] = LABEL_ROW + labels + 2 + label_at(c, j)


cdef inline int label_distance(int head, int dependent) noexcept nogil:
    """The row for a label's signed distance: 0 to 2 x LONGEST_DISTANCE."""
    cdef int distance = dependent - head
    if distance > LONGEST_DISTANCE:
        distance = LONGEST_DISTANCE
    if distance < -LONGEST_DISTANCE:
        distance = -LONGEST_DISTANCE
    return distance + LONGEST_DISTANCE

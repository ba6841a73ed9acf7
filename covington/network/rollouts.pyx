"""Greedy roll-outs on projected words: parse, and learn from the oracle at every step.

The score of an action is a sum of rows, one for each slot and each small table, through a ReLU and one small matrix.
The projections of a word for all slots and for labels are made once per word by the layers above; a roll-out adds them
up, asks the oracle, and adds the gradient to the rows that it used.
"""

from libc.math cimport log
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

import numpy as np

from covington.base.hashing cimport finish, mix
from covington.network.actions cimport (
    ACTIONS, LONGEST_DISTANCE, ROWS, SLOTS, label_distance, locate, table_rows,
)
from covington.network.floats cimport Floats
from covington.transition.configuration cimport Configuration, attach, label_at, release, reserve, set_label
from covington.transition.gold cimport Gold, index_gold, release_gold, reserve_gold
from covington.transition.system cimport CHOICE, FINAL, MAX_TRANSITIONS, Arc, Costs, Moves, Oracle, System, bit

from covington.transition.systems import make_oracle, make_system

cdef enum:
    MAX_WIDTH = 1024                # of a hidden layer
    MAX_LABELS = 4096

SLOT_COUNT = SLOTS
LABEL_DISTANCES = 2 * LONGEST_DISTANCE + 1


def count_table_rows(int labels):
    """How many rows the tables of the action scorer have."""
    return table_rows(labels)


cdef class Rollouts:
    """The part of the network below the projections, and the memory of one thread."""
    cdef Floats floats
    cdef System system
    cdef Oracle oracle
    cdef bint paper                 # the loss is the sum over all optimal actions, else towards one
    cdef int width, label_width, labels
    cdef const float[:, ::1] tables
    cdef const float[:, ::1] action_weights         # [ACTIONS, width]
    cdef const float[::1] action_bias
    cdef const float[:, ::1] label_tables
    cdef const float[:, ::1] label_weights          # [label_width, labels]
    cdef const float[::1] label_bias
    # gradients, or nothing when only parsing
    cdef bint learning
    cdef float[:, ::1] d_tables
    cdef float[:, ::1] d_action_weights
    cdef float[::1] d_action_bias
    cdef Configuration c
    cdef Gold gold
    cdef readonly int64_t steps
    cdef readonly int64_t right
    cdef readonly double loss

    def __cinit__(self, Floats floats, str oracle, bint paper):
        self.floats = floats
        self.system = make_system(oracle, False)
        self.oracle = make_oracle(oracle, False)
        if self.system.count != ACTIONS:
            raise ValueError(f"the network has {ACTIONS} actions, not the {self.system.count} of the system")
        self.paper = paper

    def __dealloc__(self):
        release(&self.c)
        release_gold(&self.gold)

    def set_parameters(self, tables, action_weights, action_bias, label_tables, label_weights, label_bias):
        self.tables, self.action_weights, self.action_bias = tables, action_weights, action_bias
        self.label_tables, self.label_weights, self.label_bias = label_tables, label_weights, label_bias
        self.width, self.label_width = tables.shape[1], label_tables.shape[1]
        self.labels = len(label_bias)
        self.learning = False
        if not (self.tables.shape[0] == table_rows(self.labels) and action_weights.shape == (ACTIONS, self.width)
                and len(action_bias) == ACTIONS and label_tables.shape[0] == 2 * LONGEST_DISTANCE + 1
                and label_weights.shape == (self.label_width, self.labels)
                and self.width <= MAX_WIDTH and self.label_width <= MAX_WIDTH and self.labels <= MAX_LABELS):
            raise ValueError("the arrays of the scorers do not fit")

    def set_gradients(self, d_tables, d_action_weights, d_action_bias):
        """Where gradients are added up; after that, `run` learns."""
        self.d_tables, self.d_action_weights, self.d_action_bias = d_tables, d_action_weights, d_action_bias
        self.learning = True

    cdef int make_room(self, int n) except -1:
        reserve(&self.c, n)
        reserve_gold(&self.gold, n)
        self.oracle.prepare(n)
        return 0

    def run(self, const float[:, ::1] slots, const float[:, ::1] label_parts, const int64_t[::1] starts,
            const int64_t[::1] lengths, int32_t[::1] heads, int32_t[::1] labels, float[:, ::1] d_slots=None,
            uint64_t key=0, double explore=0.0, int root_label=0, trace=None):
        """Roll out each sentence of a batch; rows are in the order of time (see floats).

        To parse, `heads` and `labels` (by row) are written. To learn, they hold the gold tree, and gradients of the
        slots' rows are added to `d_slots`; wrong predictions are followed with probability `explore`.
        With a list `trace`, (sentence, i, j, probabilities, target, action) of each step is appended.
        """
        cdef int64_t sentence, rows = starts[starts.shape[0] - 1]
        if not (slots.shape[0] == label_parts.shape[0] == heads.shape[0] == labels.shape[0] == rows
                and slots.shape[1] == SLOTS * self.width and label_parts.shape[1] == 2 * self.label_width
                and (not self.learning or (d_slots is not None and d_slots.shape[0] == rows
                                           and d_slots.shape[1] == slots.shape[1]))):
            raise ValueError("the arrays of a batch do not fit")
        if self.learning and explore > 0 and not self.oracle.explores:
            raise ValueError("the static oracle knows the right way alone")
        for sentence in range(lengths.shape[0]):
            self.make_room(<int>lengths[sentence])
            self.roll(slots, label_parts, starts, sentence, lengths[sentence], heads, labels, d_slots,
                      finish(mix(key, <uint64_t>sentence)), explore, root_label, trace)

    cdef int roll(self, const float[:, ::1] slots, const float[:, ::1] label_parts, const int64_t[::1] starts,
                  int64_t sentence, int64_t n, int32_t[::1] heads, int32_t[::1] labels, float[:, ::1] d_slots,
                  uint64_t key, double explore, int root_label, trace) except -1 nogil:
        cdef Configuration *c = &self.c
        cdef float hidden[MAX_WIDTH]
        cdef float probabilities[ACTIONS]
        cdef float wanted[ACTIONS]
        cdef int32_t words[SLOTS]
        cdef int32_t rows[ROWS]
        cdef Costs costs
        cdef Moves moves
        cdef Arc arc
        cdef int forced, action, predicted, target = -1, i, j, word
        cdef uint64_t step = 0
        self.system.start(c, <int>n)
        if self.learning:
            for word in range(1, <int>n + 1):
                self.gold.head[word] = heads[starts[word - 1] + sentence]
            index_gold(&self.gold, c.first)
        while True:
            forced = self.system.forced(c)
            if forced == FINAL:
                break
            if forced != CHOICE:
                self.system.apply(c, forced, -1)
                continue
            i, j = c.i, c.j
            moves = self.system.moves(c)
            self.score(slots, starts, sentence, words, rows, hidden, moves.allowed, probabilities)
            predicted = -1
            for action in range(ACTIONS):
                if moves.allowed & bit(action) and (predicted < 0 or probabilities[action] > probabilities[predicted]):
                    predicted = action
            action = predicted
            if self.learning:
                self.oracle.costs(&costs, &self.gold, c, False)
                target = self.aim(&costs, moves.allowed, probabilities, wanted)
                self.learn(starts, sentence, words, rows, hidden, moves.allowed, probabilities, wanted, d_slots)
                self.steps += 1
                self.right += wanted[predicted] > 0
                if not (explore > 0 and <double>(finish(mix(key, step)) >> 11) * (1.0 / 9007199254740992.0) < explore):
                    action = target
                step += 1
            if trace is not None:
                with gil:
                    trace.append((sentence, i, j, [probabilities[k] for k in range(ACTIONS)], target, action))
            if action < self.system.unlabelled:
                self.system.apply(c, action, -1)
            else:
                arc = self.system.arc(c, action)
                self.system.apply(c, action, self.best_label(label_parts, starts, sentence, arc.head, arc.dependent))
        if not self.learning:
            self.hang(label_parts, starts, sentence, root_label)
            for word in range(1, <int>n + 1):
                heads[starts[word - 1] + sentence] = c.head[word]
                labels[starts[word - 1] + sentence] = label_at(c, word)
        return 0

    cdef void hang(self, const float[:, ::1] label_parts, const int64_t[::1] starts, int64_t sentence,
                   int root_label) noexcept nogil:
        """Make a tree of the forest: the first word without a head is the root, the others hang from it."""
        cdef Configuration *c = &self.c
        cdef int word, root = 0
        for word in range(c.n, 0, -1):
            if c.head[word] < 1:
                root = word
        for word in range(1, c.n + 1):
            if c.head[word] > 0:
                continue
            if word == root:
                set_label(c, word, root_label)
            else:
                attach(c, word, root, self.best_label(label_parts, starts, sentence, root, word))

    cdef void score(self, const float[:, ::1] slots, const int64_t[::1] starts, int64_t sentence, int32_t *words,
                    int32_t *rows, float *hidden, uint32_t allowed, float *probabilities) noexcept nogil:
        """The probabilities of the actions that the system allows, and what they were made of."""
        cdef Configuration *c = &self.c
        cdef float score[ACTIONS]
        cdef int k, count = 0
        locate(c, self.labels, words, rows)
        memset(hidden, 0, self.width * sizeof(float))
        for k in range(SLOTS):
            if words[k]:
                self.floats.kernels.add_row(
                    hidden, &slots[starts[words[k] - 1] + sentence, k * self.width], self.width)
            else:
                self.floats.kernels.add_row(hidden, &self.tables[k, 0], self.width)
        for k in range(ROWS):
            self.floats.kernels.add_row(hidden, &self.tables[rows[k], 0], self.width)
        for k in range(self.width):
            hidden[k] = hidden[k] if hidden[k] > 0 else 0
        for k in range(ACTIONS):
            if allowed & bit(k):
                score[count] = self.floats.kernels.dot(hidden, &self.action_weights[k, 0], self.width)
                score[count] += self.action_bias[k]
                count += 1
        self.floats.kernels.softmax(score, count, score)
        count = 0
        for k in range(ACTIONS):
            probabilities[k] = 0
            if allowed & bit(k):
                probabilities[k] = score[count]
                count += 1

    cdef int aim(self, const Costs *costs, uint32_t allowed, const float *probabilities,
                 float *wanted) noexcept nogil:
        """What the probabilities are moved towards; returns the action to follow where predictions are not.

        Towards one: the gold arc if it is optimal, else Shift, else NoArc, else the likeliest optimal arc. The paper's
        way: all optimal actions in proportion, but without NoArc where Shift is optimal.
        """
        cdef int action, target = -1
        cdef bint skips, waits = False
        cdef float sum = 0
        for action in range(self.system.unlabelled, ACTIONS):
            if target < 0 and costs.gold & allowed & bit(action) and costs.loss[action] == costs.best:
                target = action
        for action in range(self.system.unlabelled):
            if target < 0 and costs.loss[action] == costs.best:
                target = action
        if target < 0:
            for action in range(self.system.unlabelled, ACTIONS):
                if costs.loss[action] == costs.best and (target < 0 or probabilities[action] > probabilities[target]):
                    target = action
        for action in range(ACTIONS):
            wanted[action] = 0
        if self.paper:
            for action in range(ACTIONS):
                if not allowed & bit(action) or costs.loss[action] != costs.best:
                    continue
                skips = action < self.system.unlabelled and waits       # NoArc, where Shift is as good
                waits |= action < self.system.unlabelled
                if not skips:
                    wanted[action] = probabilities[action]
                    sum += probabilities[action]
            if sum > 1e-30:
                for action in range(ACTIONS):
                    wanted[action] = wanted[action] / sum
                return target
        wanted[target] = 1
        return target

    cdef void learn(self, const int64_t[::1] starts, int64_t sentence, const int32_t *words, const int32_t *rows,
                    const float *hidden, uint32_t allowed, const float *probabilities, const float *wanted,
                    float[:, ::1] d_slots) noexcept nogil:
        """Add the gradient of one step to the rows that it used."""
        cdef float d_hidden[MAX_WIDTH]
        cdef float d_score, right = 0
        cdef int k
        memset(d_hidden, 0, self.width * sizeof(float))
        for k in range(ACTIONS):
            if not allowed & bit(k):
                continue
            right += probabilities[k] if wanted[k] > 0 else 0
            d_score = probabilities[k] - wanted[k]
            self.d_action_bias[k] += d_score
            self.floats.kernels.add_scaled(&self.d_action_weights[k, 0], hidden, d_score, self.width)
            self.floats.kernels.add_scaled(d_hidden, &self.action_weights[k, 0], d_score, self.width)
        self.loss -= log(right if right > 1e-30 else 1e-30)
        for k in range(self.width):
            d_hidden[k] = d_hidden[k] if hidden[k] > 0 else 0
        for k in range(SLOTS):
            if words[k]:
                self.floats.kernels.add_row(
                    &d_slots[starts[words[k] - 1] + sentence, k * self.width], d_hidden, self.width)
            else:
                self.floats.kernels.add_row(&self.d_tables[k, 0], d_hidden, self.width)
        for k in range(ROWS):
            self.floats.kernels.add_row(&self.d_tables[rows[k], 0], d_hidden, self.width)

    cdef int best_label(self, const float[:, ::1] label_parts, const int64_t[::1] starts, int64_t sentence, int head,
                        int dependent) noexcept nogil:
        cdef float hidden[MAX_WIDTH]
        cdef float scores[MAX_LABELS]
        cdef int k, best = 0
        memcpy(hidden, &label_parts[starts[head - 1] + sentence, 0], self.label_width * sizeof(float))
        self.floats.kernels.add_row(hidden, &label_parts[starts[dependent - 1] + sentence, self.label_width],
                                    self.label_width)
        self.floats.kernels.add_row(hidden, &self.label_tables[label_distance(head, dependent), 0], self.label_width)
        memcpy(scores, &self.label_bias[0], self.labels * sizeof(float))
        for k in range(self.label_width):
            if hidden[k] > 0:
                self.floats.kernels.add_scaled(scores, &self.label_weights[k, 0], hidden[k], self.labels)
        for k in range(1, self.labels):
            if scores[k] > scores[best]:
                best = k
        return best


def label_rows(const int64_t[::1] starts, const int64_t[::1] lengths, const int32_t[::1] heads):
    """For each word with a head: its row, its head's row, and the row of their distance."""
    cdef Py_ssize_t rows = starts[starts.shape[0] - 1], count = 0, sentence, word
    found = np.empty((3, rows), np.int64)
    cdef int64_t[:, ::1] out = found
    for sentence in range(lengths.shape[0]):
        for word in range(1, lengths[sentence] + 1):
            head = heads[starts[word - 1] + sentence]
            if head > 0:
                out[0, count] = starts[word - 1] + sentence
                out[1, count] = starts[head - 1] + sentence
                out[2, count] = label_distance(head, <int>word)
                count += 1
    return found[:, :count]

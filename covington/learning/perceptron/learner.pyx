"""One epoch of the perceptron: greedy parsing of the training sentences, corrected by an oracle.

The rules that the paper leaves open are options here (options.TrainingOptions explains them): which of the
optimal transitions are accepted without an update, and which one an update moves towards.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from covington.features.program cimport (
    FIRST_OPEN, GROUPS, LEFT_WORD, MOST_CELLS, MOST_KEYS, MOST_TEMPLATES, NODES, PAIR, RIGHT_WORD, Group, Program,
    Signature, is_same, load_cells, locate, make_key, make_keys, make_ungated_keys, signature_of,
)
from covington.base.hashing cimport SEED, finish, mix
from covington.scorers.kernels cimport count_equal, prefetch
from covington.transition.recording cimport Recorder
from covington.features.sentences cimport Sentences, length_of, values_of
from covington.transition.classes cimport Classes, ClassTable, class_of, label_of, repair_class, transition_of
from covington.transition.configuration cimport Configuration, release, reserve
from covington.transition.gold cimport Gold, index_gold, release_gold, reserve_gold
from covington.transition.system cimport CHOICE, FINAL, MAX_TRANSITIONS, Arc, Costs, Moves, Oracle, Surroundings, System, bit
from covington.learning.perceptron.weights cimport UNIT, Change, Weights

from covington.errors import ModelError

import numpy as np


cdef inline uint64_t draw(uint64_t *state) noexcept nogil:
    """A random number; the sequence depends on nothing but the seed."""
    state[0] += <uint64_t>0x9E3779B97F4A7C15
    return finish(mix(SEED, state[0]))


# By transition: the best way to take it, named by a plain class, or -1; its score; the class that the score is of.
cdef struct Choice:
    int64_t score[MAX_TRANSITIONS]
    int number[MAX_TRANSITIONS]
    int scored[MAX_TRANSITIONS]


cdef enum:
    PARTS = RIGHT_WORD - LEFT_WORD      # of a left focus word's scores, each a group; a right one has no more


# Scores of one focus word, each part good for as long as what it depends on is the same. They follow the weights.
cdef struct Kept:
    int64_t sentences[PARTS]        # the sentence that a part is of
    Signature signatures[PARTS]


@cython.final
cdef class Learner:
    """Everything an epoch needs that is not weights or sentences."""
    cdef Program program
    cdef System system
    cdef Oracle oracle
    cdef ClassTable table
    cdef bint towards_best          # is the target of an update the best-scoring optimal transition?
    cdef bint guesses               # are premature guesses accepted?
    cdef bint idle_repairs          # are wrong arcs accepted that replace another arc?
    cdef double explore
    cdef int explore_from
    cdef uint64_t seed
    cdef Configuration c
    cdef Gold gold
    cdef int room                   # words that the kept parts have room for
    cdef int64_t *scores
    cdef int classes
    cdef int64_t sentence           # counts the sentences, over all epochs
    cdef int left_width             # keys of the parts of a left focus word, all together
    cdef Kept *left_kept            # by word
    cdef int64_t *left_scores       # by word: PARTS parts
    cdef uint64_t *left_keys        # by word: what the parts are the scores of
    cdef int32_t nodes[NODES]
    cdef Kept right_kept
    cdef int64_t *right_scores
    cdef uint64_t right_keys[MOST_KEYS]
    cdef public Recorder recorder   # writes down the configurations that are met, if there is one

    def __cinit__(self, Program program, System system, Oracle oracle, Classes classes, bint towards_best, bint guesses,
                  bint idle_repairs, double explore, int explore_from, uint64_t seed):
        cdef int group
        self.program = program
        self.system = system
        self.oracle = oracle
        self.table = classes.table
        self.classes = classes.count
        self.towards_best = towards_best
        self.guesses = guesses
        self.idle_repairs = idle_repairs
        self.explore = explore
        self.explore_from = explore_from
        self.seed = seed
        self.room = -1
        for group in range(LEFT_WORD, RIGHT_WORD):
            self.left_width += program.groups[group].templates
        self.scores = <int64_t *>calloc((1 + PARTS) * self.classes, sizeof(int64_t))
        if self.scores == NULL:
            raise MemoryError()
        self.right_scores = self.scores + self.classes

    def __dealloc__(self):
        release(&self.c)
        release_gold(&self.gold)
        free(self.scores)
        free(self.left_kept)
        free(self.left_scores)
        free(self.left_keys)

    cdef int prepare(self, Sentences sentences, int64_t index) except -1 nogil:
        """Set up the initial configuration and the gold tree of one sentence."""
        cdef int n = length_of(sentences, index), word
        cdef int64_t base = sentences.offsets[index]
        cdef size_t places
        reserve(&self.c, n)
        reserve_gold(&self.gold, n)
        self.oracle.prepare(n)
        if n > self.room:
            places = <size_t>n + <size_t>n // 2 + 66
            self.room = -1              # until there is room again
            free(self.left_kept)
            free(self.left_scores)
            free(self.left_keys)
            self.left_kept = <Kept *>calloc(places, sizeof(Kept))
            self.left_scores = <int64_t *>malloc(PARTS * places * self.classes * sizeof(int64_t))
            self.left_keys = <uint64_t *>malloc(places * (self.left_width + 1) * sizeof(uint64_t))
            if self.left_kept == NULL or self.left_scores == NULL or self.left_keys == NULL:
                with gil:
                    raise MemoryError()
            self.room = <int>places - 2
        self.system.start(&self.c, n)
        for word in range(1, n + 1):
            self.gold.head[word] = sentences.heads[base + word - 1]
            self.gold.label[word] = sentences.labels[base + word - 1]
        index_gold(&self.gold, self.c.first)
        self.sentence += 1
        return 0

    cdef void keep(self, Weights weights, Kept *kept, int64_t *scores, uint64_t *keys, const uint64_t *values, int first,
                   int last) noexcept nogil:
        """Bring the parts of a focus word's scores up to date and add them to the scores of the classes."""
        cdef Signature now
        cdef int number, part, group
        for group in range(first, last):
            part = group - first
            now = signature_of(&self.c, group)
            if kept.sentences[part] != self.sentence or not is_same(&kept.signatures[part], &now):
                kept.sentences[part] = self.sentence
                kept.signatures[part] = now
                memset(scores, 0, self.classes * sizeof(int64_t))
                weights.score(keys, self.make_keys(values, group, keys), scores)
            for number in range(self.classes):
                self.scores[number] += scores[number]
            scores += self.classes
            keys += self.program.groups[group].templates

    cdef void follow(self, const Kept *kept, int64_t *scores, const uint64_t *keys, const uint64_t *updated, int first,
                     int last, const Change *changes, int count) noexcept nogil:
        """Do to the kept parts of a focus word what an update did to the weights."""
        cdef int group, k, same
        for group in range(first, last):
            if kept.sentences[group - first] == self.sentence:
                same = count_equal(keys, updated, self.program.groups[group].templates)
                if same > 0:
                    for k in range(count):
                        scores[changes[k].number] += <int64_t>same * changes[k].change
            scores += self.classes
            keys += self.program.groups[group].templates
            updated += self.program.groups[group].templates

    cdef inline int make_keys(self, const uint64_t *values, int number, uint64_t *keys) noexcept nogil:
        """The features of a group of templates in the configuration; returns how many."""
        cdef uint64_t cells[MOST_CELLS + 1]
        load_cells(&self.program.groups[number], &self.c, self.nodes, values, self.program.width, cells)
        return make_keys(&self.program.groups[number], cells, keys)

    cdef void score(self, Weights weights, const uint64_t *values) noexcept nogil:
        """Scores of all classes in the configuration.

        An update is of all features of a configuration. So nothing is known of those behind a gate that is not there.
        """
        cdef uint64_t keys[MOST_KEYS]
        cdef uint64_t cells[MOST_CELLS + 1]
        cdef uint64_t gates[MOST_TEMPLATES]
        cdef const Group *pair = &self.program.groups[PAIR]
        cdef int word = self.c.i, group, count = 0, gate, template
        cdef Surroundings around
        self.system.look_around(&self.c, &around)
        locate(&self.c, &around, self.nodes)
        load_cells(pair, &self.c, self.nodes, values, self.program.width, cells)
        for gate in range(pair.gates):
            gates[gate] = make_key(pair, cells, pair.gate[gate])
            prefetch(weights.home(gates[gate]))
        memset(self.scores, 0, self.classes * sizeof(int64_t))
        self.keep(weights, &self.left_kept[word], self.left_scores_of(word), self.left_keys_of(word), values,
                  LEFT_WORD, RIGHT_WORD)
        self.keep(weights, &self.right_kept, self.right_scores, self.right_keys, values, RIGHT_WORD, FIRST_OPEN)
        for group in range(FIRST_OPEN, PAIR):
            count += self.make_keys(values, group, keys + count)
        count += make_ungated_keys(pair, cells, keys + count)
        for gate in range(pair.gates):
            if weights.find(gates[gate]).key != 0:
                for template in range(pair.gate[gate], pair.gate[gate + 1]):
                    keys[count] = make_key(pair, cells, template)
                    count += 1
        weights.score(keys, count, self.scores)

    cdef inline int64_t *left_scores_of(self, int word) noexcept nogil:
        return self.left_scores + PARTS * <size_t>word * self.classes

    cdef inline uint64_t *left_keys_of(self, int word) noexcept nogil:
        return self.left_keys + <size_t>word * self.left_width

    cdef int correct(self, Weights weights, const uint64_t *values, const Choice *choice, int wanted,
                     int predicted) except -1 nogil:
        """One update: towards the wanted transition and label, away from the predicted ones."""
        cdef uint64_t keys[MOST_KEYS]
        cdef Change changes[4]
        cdef int group, word, count = 0, changed = 0, transition = transition_of(&self.table, wanted)
        cdef int up = self.scored(choice, wanted), down = self.scored(choice, predicted)
        for group in range(GROUPS):
            count += self.make_keys(values, group, keys + count)
        if up != down:
            changes[0], changes[1] = Change(up, UNIT), Change(down, -UNIT)
            changed = 2
        if up != wanted and wanted != choice.number[transition]:    # a repair with another label than the best one
            changes[changed] = Change(wanted, UNIT)
            changes[changed + 1] = Change(choice.number[transition], -UNIT)
            changed += 2
        weights.update(keys, count, changes, changed)
        for word in range(self.c.first, self.c.j):
            self.follow(&self.left_kept[word], self.left_scores_of(word), self.left_keys_of(word), keys,
                        LEFT_WORD, RIGHT_WORD, changes, changed)
        self.follow(&self.right_kept, self.right_scores, self.right_keys, keys + self.left_width,
                    RIGHT_WORD, FIRST_OPEN, changes, changed)
        return 0

    cdef inline int scored(self, const Choice *choice, int number) noexcept nogil:
        """The class whose score decides about a transition with its label."""
        cdef int transition = transition_of(&self.table, number)
        return number if choice.scored[transition] == choice.number[transition] else choice.scored[transition]

    cdef void choose(self, Choice *choice, const Moves *moves) noexcept nogil:
        """The best label for each transition; those that the system forbids have none."""
        cdef int label, first, best, transition
        cdef const int64_t *scores = self.scores
        for transition in range(self.table.transitions):
            best = first = class_of(&self.table, transition, 0)
            if transition >= self.table.unlabelled:
                for label in range(1, self.table.labels):
                    if scores[first + label] > scores[best]:
                        best = first + label
            choice.number[transition] = choice.scored[transition] = best
            if self.table.own_repairs and moves.repairs & bit(transition):
                choice.scored[transition] = repair_class(&self.table, transition)
            choice.score[transition] = scores[choice.scored[transition]]
            if not moves.allowed & bit(transition):
                choice.number[transition] = -1

    cdef bint is_welcome(self, int dependent) noexcept nogil:
        """May an optimal wrong arc to this word be taken without an update?"""
        if self.c.head[dependent] != self.c.nothing:
            return self.idle_repairs
        if self.gold.head[dependent] < self.c.first:    # an arc from the implicit root stands until another takes its place
            return self.guesses
        return self.guesses or self.oracle.is_last_chance(&self.gold, &self.c, dependent)

    cdef int accepted(self, const Choice *choice, const Costs *costs, int transition) noexcept nogil:
        """The class that names how an optimal transition may be taken, or -1.

        A gold arc must carry its gold label; a wrong arc that costs nothing may carry any.
        """
        cdef Arc arc
        if costs.loss[transition] != costs.best or choice.number[transition] < 0:
            return -1
        if transition < self.table.unlabelled:
            return choice.number[transition]
        arc = self.system.arc(&self.c, transition)
        if costs.gold & bit(transition):
            return class_of(&self.table, transition, self.gold.label[arc.dependent])
        return choice.number[transition] if self.is_welcome(arc.dependent) else -1

    cdef int target(self, const Choice *choice, const Costs *costs) noexcept nogil:
        """The class that names what an update moves towards, or -1."""
        cdef int transition, number, best = -1
        cdef int64_t score, highest = 0
        if not self.towards_best:
            for transition in range(self.table.unlabelled, self.table.transitions):
                if costs.gold & bit(transition) and self.accepted(choice, costs, transition) >= 0:
                    return self.accepted(choice, costs, transition)
            for transition in range(self.table.unlabelled):
                if costs.loss[transition] == costs.best:
                    return transition
        for transition in range(self.table.transitions):
            number = self.accepted(choice, costs, transition)
            if number < 0:
                continue
            score = self.scores[self.scored(choice, number)]
            if best < 0 or score > highest:
                best, highest = number, score
        return best

    cdef void take(self, int transition, int label) noexcept nogil:
        """Make a transition; what is kept of the right focus word is of no use for another."""
        cdef int right = self.c.j
        self.system.apply(&self.c, transition, label)
        if self.c.j != right:
            memset(&self.right_kept, 0, sizeof(Kept))

    cdef int learn(self, Weights weights, const uint64_t *values, bint exploring, uint64_t *random) except -1 nogil:
        """Parse one sentence and correct the weights on the way; returns the number of updates."""
        cdef Costs costs
        cdef Choice choice
        cdef Moves moves
        cdef int forced = self.system.forced(&self.c), updates = 0, transition, predicted, wanted, number
        while forced != FINAL:
            if self.recorder is not None:
                self.recorder.note(&self.c)
            if forced != CHOICE:
                self.take(forced, -1)       # nothing else is possible, so there is nothing to learn
                forced = self.system.forced(&self.c)
                continue
            self.score(weights, values)
            moves = self.system.moves(&self.c)
            self.choose(&choice, &moves)
            predicted = -1
            for transition in range(self.table.transitions):
                if choice.number[transition] >= 0 and (predicted < 0 or choice.score[transition] > choice.score[predicted]):
                    predicted = transition
            self.oracle.costs(&costs, &self.gold, &self.c, False)
            weights.steps += 1
            number = choice.number[predicted]
            if self.accepted(&choice, &costs, predicted) != number:
                wanted = self.target(&choice, &costs)
                if wanted >= 0:
                    self.correct(weights, values, &choice, wanted, number)
                    updates += 1
                    if not (exploring and (draw(random) >> 11) * (1.0 / 9007199254740992.0) < self.explore):
                        number = wanted
            self.take(transition_of(&self.table, number), label_of(&self.table, number))
            forced = self.system.forced(&self.c)
        return updates

    def epoch(self, Weights weights, Sentences sentences, int epoch, int shard):
        """Go through all sentences once, in an order drawn from seed, epoch and shard; returns the updates."""
        cdef int64_t[::1] order = np.arange(sentences.count, dtype=np.int64)
        cdef int64_t index, other, swapped, updates = 0
        cdef uint64_t random = finish(mix(mix(mix(SEED, self.seed), epoch), shard))
        cdef bint exploring = self.oracle.explores and epoch >= self.explore_from
        if weights.classes != self.classes:
            raise ModelError(f"weights of {weights.classes} classes do not fit a learner of {self.classes}")
        with nogil:
            for index in range(sentences.count - 1, 0, -1):
                other = <int64_t>(draw(&random) % <uint64_t>(index + 1))
                swapped = order[index]
                order[index] = order[other]
                order[other] = swapped
            for index in range(sentences.count):
                if self.recorder is not None:
                    if self.recorder.is_full():
                        break
                    self.recorder.sentence = order[index]
                self.prepare(sentences, order[index])
                updates += self.learn(weights, values_of(sentences, order[index]), exploring, &random)
            weights.updates += updates
        return updates

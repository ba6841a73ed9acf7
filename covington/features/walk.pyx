"""A parser's configuration that Python can walk through step by step, to look at its arcs and its features."""

from libc.stdint cimport int32_t, int64_t, uint64_t

from covington.features.program cimport (
    GROUPS, MOST_CELLS, MOST_TEMPLATES, NODES, NUMBER_BITS, Program, load_cells, locate, make_keys,
)
from covington.features.sentences cimport Sentences, length_of, values_of
from covington.transition.configuration cimport (
    Configuration, attach, detach, label_at, release, reserve, set_label,
)
from covington.transition.system cimport CHOICE, Surroundings, System, bit

from covington.features import templates as tables
from covington.errors import OptionError
from covington.transition.configuration import TRANSITIONS


cdef class Walk:
    """One sentence, from its initial configuration on, in the state that parsing and training use."""
    cdef Program program
    cdef Sentences sentences
    cdef int64_t index
    cdef System system
    cdef Configuration c

    def __cinit__(self, Program program, Sentences sentences, int64_t index, System system):
        if not 0 <= index < sentences.count:
            raise OptionError(f"sentence {index} is not one of {sentences.count}")
        self.program = program
        self.sentences = sentences
        self.index = index
        self.system = system
        reserve(&self.c, length_of(sentences, index))
        system.start(&self.c, length_of(sentences, index))

    def __dealloc__(self):
        release(&self.c)

    def take(self, name, int label=-1):
        """Make a transition; OptionError where it is not allowed. Returns whether an arc was removed."""
        cdef int transition, forced = self.system.forced(&self.c)
        if name not in self.system.transitions:
            raise OptionError(f"{name} is not a transition of the {self.system.name} system")
        transition = self.system.transitions.index(name)
        if forced != transition and (forced != CHOICE or not self.system.moves(&self.c).allowed & bit(transition)):
            raise OptionError(f"{name} is not allowed with the focus words {self.c.i} and {self.c.j}")
        return self.system.apply(&self.c, transition, label) != 0

    def mark_root(self, int word, int label):
        """Hang a word from the root when all transitions are done; it keeps a label that it has."""
        self.check_word(word)
        self.c.head[word] = 0
        if label_at(&self.c, word) < 0:
            set_label(&self.c, word, label)

    def turn_to(self, int word, int head):
        """Take the arc into a word away and put the focus on it and on another word."""
        self.check_word(word)
        self.check_word(head)
        detach(&self.c, word)
        self.system.turn_to(&self.c, head, word)

    def attach(self, int word, int head, int label):
        """Add an arc without a transition; the word must have no head."""
        self.check_word(word)
        self.check_word(head)
        if self.c.head[word] != self.c.nothing:
            raise OptionError(f"word {word} has a head")
        attach(&self.c, word, head, label)

    cdef int check_word(self, int word) except -1:
        if not 1 <= word <= self.c.n:
            raise OptionError(f"there is no word {word}")
        return 0

    @property
    def focus(self):
        """(i, j)."""
        return self.c.i, self.c.j

    @property
    def arcs(self):
        """(head, dependent, label number) of every arc, by dependent."""
        return [
            (self.c.head[word], word, label_at(&self.c, word))
            for word in range(1, self.c.n + 1) if self.c.head[word] != self.c.nothing
        ]

    def dependents(self, int word):
        """Nearest and farthest left, nearest and farthest right dependent (0 for none), left and right valency."""
        if not 0 <= word <= self.c.n:
            raise OptionError(f"there is no word {word}")
        found = (
            self.c.left_nearest[word], self.c.left_farthest[word],
            self.c.right_nearest[word], self.c.right_farthest[word],
        )
        return (
            *(0 if dependent == self.c.nobody else dependent for dependent in found),
            self.c.relations[word].left_valency, self.c.relations[word].right_valency,
        )

    @property
    def open_words(self):
        """CL and CR: the first and the last word between the focus words with its head outside; 0 for none."""
        return (
            0 if self.c.open_first == self.c.nobody else self.c.open_first,
            0 if self.c.open_last == self.c.nobody else self.c.open_last,
        )

    def features(self):
        """The 64-bit key of every template by its name; there must be two focus words."""
        cdef uint64_t cells[MOST_CELLS + 1]
        cdef uint64_t keys[MOST_TEMPLATES]
        cdef int32_t nodes[NODES]
        cdef Surroundings around
        cdef int group, t
        if self.system.forced(&self.c) != CHOICE:
            raise OptionError("features are for configurations with two focus words")
        found = {}
        self.system.look_around(&self.c, &around)
        locate(&self.c, &around, nodes)
        for group in range(GROUPS):
            load_cells(&self.program.groups[group], &self.c, nodes, values_of(self.sentences, self.index),
                       self.program.width, cells)
            for t in range(make_keys(&self.program.groups[group], cells, keys)):
                found[self.program.names[(keys[t] & NUMBER_BITS) - 1]] = keys[t]
        return found

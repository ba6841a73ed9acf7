"""Feature extraction: a small interpreter for the tables of templates.py."""

from libc.stdint cimport int32_t, uint64_t

from covington.base.hashing cimport hash_bytes
from covington.transition.configuration cimport Configuration, Relations
from covington.transition.system cimport Surroundings

from covington.features import templates as tables
from covington.base.agreement import require_same_names
from covington.errors import OptionError

cdef dict _GROUPS = {
    "left word": LEFT_WORD, "left head": LEFT_HEAD, "left left": LEFT_LEFT, "left right": LEFT_RIGHT,
    "right word": RIGHT_WORD, "right head": RIGHT_HEAD, "right left": RIGHT_LEFT,
    "first open": FIRST_OPEN, "last open": LAST_OPEN,
    "pair tags": PAIR_TAGS, "pair distance": PAIR_DISTANCE, "pair arcs": PAIR_ARCS, "pair family": PAIR_FAMILY,
    "pair": PAIR,
}
cdef dict _NODES = {
    "L0": L0, "L1": L1, "L2": L2, "LA": LA, "L0h": L0_HEAD, "L0h2": L0_GRANDPARENT,
    "L0l": L0_LEFT_FARTHEST, "L0l'": L0_LEFT_NEAREST, "L0r": L0_RIGHT_FARTHEST, "L0r'": L0_RIGHT_NEAREST,
    "R0": R0, "R1": R1, "R2": R2, "R3": R3, "RB": RB, "R0h": R0_HEAD, "R0h2": R0_GRANDPARENT,
    "R0l": R0_LEFT_FARTHEST, "R0l'": R0_LEFT_NEAREST,
    "CL": CL, "CR": CR,
}


cdef dict _relation_numbers():
    """Attribute → which of the numbers in state.Relations it is."""
    cdef Relations one
    cdef uint64_t *first = <uint64_t *>&one
    return {
        "l": &one.label - first, "vl": &one.left_valency - first, "vr": &one.right_valency - first,
        "sl": &one.left_labels - first, "sr": &one.right_labels - first,
    }


cdef dict _RELATIONS = _relation_numbers()

require_same_names("the groups of templates", tables.GROUPS, _GROUPS)
require_same_names("the nodes of templates", tables.NODES, _NODES)
require_same_names("the attributes of arcs", tables.RELATIONS, _RELATIONS)

#: bits of a key that say which template it is of
TEMPLATE_BITS = NUMBER_BITS


cdef class Program:
    """The translation of a list of templates."""

    @property
    def gate_numbers(self):
        """The numbers that the keys of gates carry."""
        return sorted(1 + self.names.index(name) for name in set(self.gates.values()))

    def __cinit__(self, names):
        parsed = [tables.parse_template(name) for name in names]
        self.names = list(names)
        groups = [[template for template in parsed if template.group == name] for name in sorted(_GROUPS, key=_GROUPS.get)]
        asked = {atom.word for template in parsed for atom in template.atoms if atom.word}
        asked.update(word for group in groups[:PAIR] for word in _whole_words(group, asked).values())
        self.attributes = sorted(asked)
        self.width = len(self.attributes)
        if len(parsed) > NUMBER_BITS:
            raise OptionError(f"more than {NUMBER_BITS} templates")
        self.gates = tables.gates(parsed)
        for number, group in enumerate(groups):
            self.translate(number, sorted(group, key=self.order))

    def order(self, template):
        """Templates without a gate come first; then each gate and those that stand behind it."""
        gate = self.gates.get(template.name, "")
        return gate, template.name != gate, len(_parts(template))

    def translate(self, int number, list templates):
        cdef Group *group = &self.groups[number]
        cdef int t, p
        if len(templates) > MOST_TEMPLATES:
            raise OptionError(f"more than {MOST_TEMPLATES} templates of one kind")
        gates = [t for t, template in enumerate(templates) if template.name in self.gates.values()]
        ungated = [len(_parts(template)) for template in templates if template.name not in self.gates]
        cells = list(dict.fromkeys(part for template in templates for part in _parts(template)))
        cells.sort(key=lambda cell: -1 if cell[1] in self.attributes else tables.STATE_ATTRIBUTES.index(cell[1]))
        if len(cells) > MOST_CELLS:
            raise OptionError(f"templates ask for more than {MOST_CELLS} values of one kind")
        group.templates = len(templates)
        group.ones = sum(parts == 1 for parts in ungated)
        group.twos = sum(parts <= 2 for parts in ungated)
        group.ungated = len(ungated)
        group.gates = len(gates)
        for t, at in enumerate([*gates, len(templates)]):
            group.gate[t] = at
        for t, template in enumerate(templates):
            name, parts = template.name.encode(), _parts(template)
            if len(parts) > MOST_PARTS:
                raise OptionError(f"template {template.name!r} has more than {MOST_PARTS} parts")
            group.seed[t] = hash_bytes(name, len(name))
            group.number[t] = 1 + self.names.index(template.name)
            group.parts[t] = len(parts)
            for p, part in enumerate(parts):
                group.part[t][p] = cells.index(part)
        group.word_cells = sum(attribute in self.attributes for _, attribute in cells)
        group.relation_cells = sum(attribute != tables.DISTANCE for _, attribute in cells)
        group.distance_cell = MOST_CELLS if group.relation_cells == len(cells) else group.relation_cells
        for t, (node, attribute) in enumerate(cells[:group.relation_cells]):
            group.node[t] = _NODES[node]
            group.source[t] = self.attributes.index(attribute) if t < group.word_cells else _RELATIONS[attribute]
        words = _whole_words(templates, self.attributes) if number < PAIR else {}      # nobody remembers the rest
        group.words = len(words)
        for t, (node, attribute) in enumerate(words.items()):
            group.word_node[t] = _NODES[node]
            group.word_source[t] = self.attributes.index(attribute)


def _parts(template):
    """The values that a template is made of: (node, attribute); word attributes of one node are one value."""
    return [(atom.node, atom.word) for atom in template.atoms if atom.word] + [
        (None if state == tables.DISTANCE else atom.node, state) for atom in template.atoms for state in atom.state
    ]


def _whole_words(templates, attributes):
    """Node → one attribute with all letters that the templates ask of it, from `attributes` where there is one."""
    letters = {}
    for template in templates:
        for atom in template.atoms:
            if atom.word:
                letters.setdefault(atom.node, set()).update(atom.word)
    there = {frozenset(attribute): attribute for attribute in sorted(attributes)}
    return {node: there.get(frozenset(asked), "".join(sorted(asked))) for node, asked in letters.items()}


cdef void locate(const Configuration *c, const Surroundings *around, int32_t *nodes) noexcept nogil:
    """The words that stand at the nodes."""
    cdef int i = around.left[0], j = around.right[0]
    nodes[L0] = i
    nodes[L1] = around.left[1]
    nodes[L2] = around.left[2]
    nodes[LA] = around.after_left
    nodes[L0_HEAD] = head_of(c, i)
    nodes[L0_GRANDPARENT] = head_of(c, nodes[L0_HEAD])
    nodes[L0_LEFT_FARTHEST] = c.left_farthest[i]
    nodes[L0_LEFT_NEAREST] = c.left_nearest[i]
    nodes[L0_RIGHT_FARTHEST] = c.right_farthest[i]
    nodes[L0_RIGHT_NEAREST] = c.right_nearest[i]
    nodes[R0] = j
    nodes[R1] = around.right[1]
    nodes[R2] = around.right[2]
    nodes[R3] = around.right[3]
    nodes[RB] = around.before_right
    nodes[R0_HEAD] = head_of(c, j)
    nodes[R0_GRANDPARENT] = head_of(c, nodes[R0_HEAD])
    nodes[R0_LEFT_FARTHEST] = c.left_farthest[j]
    nodes[R0_LEFT_NEAREST] = c.left_nearest[j]
    nodes[CL] = c.open_first
    nodes[CR] = c.open_last

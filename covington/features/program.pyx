"""Feature extraction: a small interpreter for the tables of templates.py."""

from libc.stdint cimport int32_t

from covington.base.hashing cimport hash_bytes
from covington.transition.configuration cimport Configuration
from covington.transition.system cimport Surroundings

from covington.features import templates as tables
from covington.errors import OptionError


cdef class Program:
    """The translation of a list of templates."""

    @property
    def gate_numbers(self):
        """The numbers that the keys of gates carry."""
        return sorted(1 + self.names.index(name) for name in set(self.gates.values()))

    def __cinit__(self, names):
        parsed = [tables.parse_template(name) for name in names]
        self.names = list(names)
        groups = [[template for template in parsed if template.group == name] for name in tables.GROUPS]
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
            group.node[t] = tables.NODES.index(node)
            group.source[t] = (self.attributes if t < group.word_cells else tables.RELATIONS).index(attribute)
        words = _whole_words(templates, self.attributes) if number < PAIR else {}      # nobody remembers the rest
        group.words = len(words)
        for t, (node, attribute) in enumerate(words.items()):
            group.word_node[t] = tables.NODES.index(node)
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
    """The words that stand at the nodes, in the order of templates.NODES."""
    cdef int i = around.left[0], j = around.right[0]
    nodes[0] = i
    nodes[1] = around.left[1]
    nodes[2] = around.left[2]
    nodes[3] = around.after_left
    nodes[4] = head_of(c, i)
    nodes[5] = head_of(c, nodes[4])
    nodes[6] = c.left_farthest[i]
    nodes[7] = c.left_nearest[i]
    nodes[8] = c.right_farthest[i]
    nodes[9] = c.right_nearest[i]
    nodes[10] = j
    nodes[11] = around.right[1]
    nodes[12] = around.right[2]
    nodes[13] = around.right[3]
    nodes[14] = around.before_right
    nodes[15] = head_of(c, j)
    nodes[16] = head_of(c, nodes[15])
    nodes[17] = c.left_farthest[j]
    nodes[18] = c.left_nearest[j]
    nodes[19] = c.open_first
    nodes[20] = c.open_last

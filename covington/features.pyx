"""Feature extraction: a small interpreter for the tables of templates.py."""

from libc.stdint cimport int32_t, uint64_t

from covington.hashing cimport SEED, hash_bytes, mix
from covington.state cimport Configuration

from covington import templates as tables
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
        self.attributes = sorted({atom.word for template in parsed for atom in template.atoms if atom.word})
        self.width = len(self.attributes)
        if len(parsed) > NUMBER_BITS:
            raise OptionError(f"more than {NUMBER_BITS} templates")
        self.gates = tables.gates(parsed)
        for number, name in enumerate(tables.GROUPS):
            group = [template for template in parsed if template.group == name]
            # gates first, so that one loop can ask for them before anything behind them
            group.sort(key=lambda template: template.name not in self.gates.values())
            self.translate(number, group)

    def translate(self, int number, list templates):
        cdef Group *group = &self.groups[number]
        cdef int t, p
        cells = []
        if len(templates) > MOST_TEMPLATES:
            raise OptionError(f"more than {MOST_TEMPLATES} templates of one kind")
        group.templates = len(templates)
        group.gates = sum(template.name in self.gates.values() for template in templates)
        for t, template in enumerate(templates):
            name = template.name.encode()
            group.seed[t] = hash_bytes(name, len(name))
            group.number[t] = 1 + self.names.index(template.name)
            gate = self.gates.get(template.name)
            group.gate[t] = -1 if gate is None else [other.name for other in templates].index(gate)
            parts = [(atom.node, atom.word) for atom in template.atoms if atom.word]
            parts += [(atom.node, state) for atom in template.atoms for state in atom.state]
            if len(parts) > MOST_PARTS:
                raise OptionError(f"template {template.name!r} has more than {MOST_PARTS} parts")
            group.parts[t] = len(parts)
            for p, part in enumerate(parts):
                if part not in cells:
                    cells.append(part)
                group.part[t][p] = cells.index(part)
        if len(cells) > MOST_CELLS:
            raise OptionError(f"templates ask for more than {MOST_CELLS} values of one kind")
        group.cells = len(cells)
        for t, (node, attribute) in enumerate(cells):
            group.node[t] = tables.NODES.index(node)
            if attribute in self.attributes and attribute not in tables.STATE_ATTRIBUTES:
                group.source[t] = self.attributes.index(attribute)
            else:
                group.source[t] = -1 - tables.STATE_ATTRIBUTES.index(attribute)


cdef void locate(const Configuration *c, int32_t *nodes) noexcept nogil:
    """The words that stand at the nodes, in the order of templates.NODES."""
    cdef int i = c.i, j = c.j
    nodes[0] = i
    nodes[1] = i - 1 if i - 1 >= c.first else c.nobody
    nodes[2] = i - 2 if i - 2 >= c.first else c.nobody
    nodes[3] = i + 1
    nodes[4] = head_of(c, i)
    nodes[5] = head_of(c, nodes[4])
    nodes[6] = c.left_farthest[i]
    nodes[7] = c.left_nearest[i]
    nodes[8] = c.right_farthest[i]
    nodes[9] = c.right_nearest[i]
    nodes[10] = j
    nodes[11] = j + 1
    nodes[12] = j + 2 if j + 2 <= c.n else c.nobody
    nodes[13] = j + 3 if j + 3 <= c.n else c.nobody
    nodes[14] = j - 1 if j - 1 >= c.first else c.nobody
    nodes[15] = head_of(c, j)
    nodes[16] = head_of(c, nodes[15])
    nodes[17] = c.left_farthest[j]
    nodes[18] = c.left_nearest[j]
    nodes[19] = c.open_first
    nodes[20] = c.open_last


cdef void load_cells(const Group *group, const Configuration *c, const int32_t *nodes, const uint64_t *values,
                     int width, uint64_t *cells) noexcept nogil:
    """Fetch the values that a group of templates asks for."""
    cdef int cell, word, source, distance
    for cell in range(group.cells):
        word = nodes[group.node[cell]]
        source = group.source[cell]
        if source >= 0:
            cells[cell] = values[<size_t>word * width + source]
        elif source == -1:
            cells[cell] = <uint64_t>(c.label[word] + 2)
        elif source == -2:
            distance = c.j - c.i
            cells[cell] = distance if distance < FARTHEST else FARTHEST
        elif source == -3:
            cells[cell] = c.left_valency[word]
        elif source == -4:
            cells[cell] = c.right_valency[word]
        elif source == -5:
            cells[cell] = c.left_labels[word]
        else:
            cells[cell] = c.right_labels[word]


cdef int make_keys(const Group *group, const uint64_t *cells, uint64_t *keys) noexcept nogil:
    """One key per template; its low bits say which one, and so it is never 0."""
    cdef int t, p
    cdef uint64_t key
    for t in range(group.templates):
        key = group.seed[t]
        for p in range(group.parts[t]):
            key = mix(key, cells[group.part[t][p]])
        keys[t] = (key & ~<uint64_t>NUMBER_BITS) | group.number[t]
    return group.templates

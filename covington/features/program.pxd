"""Templates as the compiled core runs them: load some cells, then mix them into one 64-bit key per template."""

from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t

from covington.base.hashing cimport finish, mix
from covington.transition.configuration cimport Configuration, label_at
from covington.transition.system cimport Surroundings

# templates.GROUPS, by the names that features.pyx gives them. Groups that are kept together are neighbours.
cdef enum:
    LEFT_WORD, LEFT_HEAD, LEFT_LEFT, LEFT_RIGHT
    RIGHT_WORD, RIGHT_HEAD, RIGHT_LEFT
    FIRST_OPEN, LAST_OPEN
    PAIR_TAGS, PAIR_DISTANCE, PAIR_ARCS, PAIR_FAMILY, PAIR
    GROUPS                  # how many there are

# templates.NODES, by the names that features.pyx gives them.
cdef enum:
    L0, L1, L2, LA
    L0_HEAD, L0_GRANDPARENT, L0_LEFT_FARTHEST, L0_LEFT_NEAREST, L0_RIGHT_FARTHEST, L0_RIGHT_NEAREST
    R0, R1, R2, R3, RB
    R0_HEAD, R0_GRANDPARENT, R0_LEFT_FARTHEST, R0_LEFT_NEAREST
    CL, CR
    NODES                   # how many there are

cdef enum:
    MOST_CELLS = 48         # different values that the templates of one group may ask for
    MOST_TEMPLATES = 96     # templates in one group
    MOST_PARTS = 8          # values in one template
    NUMBER_BITS = 0xFF      # of a key: which template it is of
    MOST_KEYS = NUMBER_BITS + 1     # of all templates
    FARTHEST = 20           # longer distances are all one


cdef struct Group:
    int word_cells                  # values of a word attribute; they come first
    int relation_cells              # then, up to here, those of its relations (state.Relations)
    int distance_cell               # where the distance of the focus words belongs, MOST_CELLS if nobody asks
    int32_t node[MOST_CELLS]
    int32_t source[MOST_CELLS]      # the number of the attribute, or of the relation
    int words                       # nodes that word attributes are asked of
    int32_t word_node[NODES]
    int32_t word_source[NODES]      # the attribute that has all that is asked of the node
    int templates
    int ones                        # the first templates, up to here, have one part
    int twos                        # from there up to here two
    int ungated                     # and from there up to here more; the others stand behind a gate
    int gates
    int gate[MOST_TEMPLATES + 1]    # the first template behind each gate, which is the gate itself, and `templates`
    uint64_t seed[MOST_TEMPLATES]
    uint64_t number[MOST_TEMPLATES]     # of the template in the whole list, from 1
    uint8_t parts[MOST_TEMPLATES]
    uint8_t part[MOST_TEMPLATES][MOST_PARTS]


cdef class Program:
    cdef Group groups[GROUPS]
    cdef readonly int width             # values per word
    cdef readonly list attributes       # the word attributes, fused ones included
    cdef readonly list names
    cdef readonly dict gates            # template → the gate that it stands behind


# All that the scores of a group of one focus word depend on, besides the word itself.
cdef struct Signature:
    uint64_t words
    uint64_t labels
    uint64_t more_labels
    int32_t valency


cdef inline int head_of(const Configuration *c, int word) noexcept nogil:
    """The head of a word; nobody for an explicit "none" and for the heads of the root and of nobody."""
    cdef int head = c.head[word]
    return c.nobody if head < 0 else head


cdef inline uint64_t both(int one, int other) noexcept nogil:
    return <uint64_t><uint32_t>one << 32 | <uint32_t>other


cdef inline Signature signature_of(const Configuration *c, int group) noexcept nogil:
    """What the scores of a group depend on in this configuration."""
    cdef int word = c.i if group < RIGHT_WORD else c.j, near, far
    if group == LEFT_HEAD or group == RIGHT_HEAD:
        near = head_of(c, word)
        far = head_of(c, near)
        return Signature(both(near, far), c.relations[word].label, both(label_at(c, near), label_at(c, far)), 0)
    if group == LEFT_LEFT or group == RIGHT_LEFT:
        near, far = c.left_nearest[word], c.left_farthest[word]
        return Signature(both(near, far), both(label_at(c, near), label_at(c, far)), c.relations[word].left_labels,
                         <int32_t>c.relations[word].left_valency)
    if group == LEFT_RIGHT:
        near, far = c.right_nearest[word], c.right_farthest[word]
        return Signature(both(near, far), both(label_at(c, near), label_at(c, far)), c.relations[word].right_labels,
                         <int32_t>c.relations[word].right_valency)
    return Signature(0, 0, 0, 0)


cdef inline bint is_same(const Signature *one, const Signature *other) noexcept nogil:
    return (
        one.words == other.words and one.labels == other.labels and one.more_labels == other.more_labels
        and one.valency == other.valency
    )


cdef void locate(const Configuration *c, const Surroundings *around, int32_t *nodes) noexcept nogil


cdef inline void load_cells(const Group *group, const Configuration *c, const int32_t *nodes, const uint64_t *values,
                            int width, uint64_t *cells) noexcept nogil:
    """Fetch the values that a group of templates asks for; there is room for one more."""
    cdef int cell
    for cell in range(group.word_cells):
        cells[cell] = values[<size_t>nodes[group.node[cell]] * width + group.source[cell]]
    for cell in range(group.word_cells, group.relation_cells):
        cells[cell] = relation(c, nodes[group.node[cell]], group.source[cell])
    cells[group.distance_cell] = distance(c)


cdef inline uint64_t relation(const Configuration *c, int word, int number) noexcept nogil:
    return (<const uint64_t *>&c.relations[word])[number]


cdef inline uint64_t distance(const Configuration *c) noexcept nogil:
    return <uint64_t>min(c.j - c.i, <int>FARTHEST)


cdef inline uint64_t identity_of(const Group *group, const Configuration *c, const int32_t *nodes, const uint64_t *values,
                                 int width, const uint64_t *factors) noexcept nogil:
    """A hash of all that the scores of a group depend on, from as few values as possible; an odd number."""
    cdef uint64_t sum = distance(c) * factors[group.distance_cell]
    cdef int k
    for k in range(group.words):
        sum += values[<size_t>nodes[group.word_node[k]] * width + group.word_source[k]] * factors[k]
    for k in range(group.word_cells, group.relation_cells):
        sum += relation(c, nodes[group.node[k]], group.source[k]) * factors[k]
    return finish(sum) | 1


cdef inline uint64_t numbered(uint64_t key, uint64_t number) noexcept nogil:
    return (key & ~<uint64_t>NUMBER_BITS) | number


cdef inline uint64_t make_key(const Group *group, const uint64_t *cells, int template) noexcept nogil:
    """The key of a template; its low bits say which one, and so it is never 0."""
    cdef uint64_t key = group.seed[template]
    cdef int p
    for p in range(group.parts[template]):
        key = mix(key, cells[group.part[template][p]])
    return numbered(key, group.number[template])


cdef inline int make_ungated_keys(const Group *group, const uint64_t *cells, uint64_t *keys) noexcept nogil:
    """The keys of the templates that stand behind no gate; returns how many."""
    cdef int t
    cdef uint64_t key
    for t in range(group.ones):
        keys[t] = numbered(mix(group.seed[t], cells[group.part[t][0]]), group.number[t])
    for t in range(group.ones, group.twos):
        key = mix(group.seed[t], cells[group.part[t][0]])
        keys[t] = numbered(mix(key, cells[group.part[t][1]]), group.number[t])
    for t in range(group.twos, group.ungated):
        keys[t] = make_key(group, cells, t)
    return group.ungated


cdef inline int make_keys(const Group *group, const uint64_t *cells, uint64_t *keys) noexcept nogil:
    """The keys of all templates; returns how many."""
    cdef int t
    for t in range(make_ungated_keys(group, cells, keys), group.templates):
        keys[t] = make_key(group, cells, t)
    return group.templates

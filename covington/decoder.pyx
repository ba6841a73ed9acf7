"""The greedy loop: parse encoded sentences with frozen weights, the GIL released.

A configuration's scores are the sum of parts that depend on the left focus word, on its heads, on its dependents, and so
on (templates.GROUPS). A part is kept with the word and made again only when what it depends on has changed; and since
the same words and tags meet again and again, a small memo per group has parts that were made for other words. Most parts
are met only once, so a part gets a place that another one has only when it is missed there twice in a row.

A model is larger than the processor's caches, so most of the time of a plain loop would go into waiting for memory.
Several sentences are therefore parsed at once, in lanes that take turns: while the weights that one lane has asked
for are on their way, the others compute. What comes out does not depend on any of this.
"""

cimport cython
from libc.math cimport NAN
from libc.stdint cimport int16_t, int32_t, int64_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from covington.features cimport (
    FIRST_OPEN, LAST_OPEN, LEFT_WORD, MOST_CELLS, MOST_KEYS, MOST_TEMPLATES, NODES, PAIR, PAIR_TAGS, RIGHT_WORD, Group,
    Program, Signature, identity_of, is_same, load_cells, locate, make_key, make_ungated_keys, signature_of,
)
from covington.frozen cimport (
    CommonBucket, Found, FrozenWeights, Rare, Tables, add_up, call, call_gate, fetch_row, find, look, may_know,
)
from covington.hashing cimport finish, mix
from covington.kernels cimport Pair, allocate, largest_of, prefetch
from covington.sentences cimport Sentences, length_of, values_of
from covington.state cimport (
    CYCLE_ARC, LEFT_ARC, NO_ARC, OLD_HEAD, RIGHT_ARC, SHIFT, TRANSITION_COUNT, Configuration, attach, detach,
    find_open_words, is_repair, label_at, label_of, left_arc, no_arc, release, reserve, right_arc, set_label, shift, start,
    transition_of,
)

import numpy as np

cdef enum:
    LANES = 6
    LEFT_KEPT = RIGHT_WORD - LEFT_WORD          # parts of the left focus word, kept with every word
    OPEN_KEPT = PAIR_TAGS - FIRST_OPEN          # and as CL, as CR
    KEPT = LEFT_KEPT + OPEN_KEPT
    RIGHT_KEPT = FIRST_OPEN - RIGHT_WORD        # parts of the right focus word
    PAIR_KEPT = PAIR - PAIR_TAGS                # parts of the pair
    MOST_MEMO = 4096            # places per group, unless there are very many columns
    MEMO_SCORES = 1 << 23       # of all groups together
    MEMO_SEED = 0x3C6EF372
    KNOWN = 48                  # bits of a tag that say which part is there
    MISSED = 64 - KNOWN         # and those above, which part was looked for in vain since it came
    ROOMY = 32                  # room for so many times the words is given back
    NEVER = -0x7FFFFFFF
    NON_MONOTONIC = TRANSITION_COUNT            # in `counts`, after the transitions
    REPAIRS_TO_GOLD = NON_MONOTONIC + 1
    REPAIRS_HARMFUL = NON_MONOTONIC + 2
    COUNTED = NON_MONOTONIC + 3

#: what is counted → its number in `counts`; parser.Statistics adds them up
COUNTS = {
    "shift": SHIFT, "no_arc": NO_ARC, "left_arc": LEFT_ARC, "right_arc": RIGHT_ARC,
    "non_monotonic": NON_MONOTONIC, "repairs_to_gold": REPAIRS_TO_GOLD, "repairs_harmful": REPAIRS_HARMFUL,
}


# What the kept parts of a word were made from.
cdef struct Kept:
    int64_t changes             # of the arcs, when the parts were last looked at, or 0 if there are none yet
    Signature signatures[LEFT_KEPT]
    bint is_open_known[OPEN_KEPT]


# A part that is needed, and where the memo would have it.
cdef struct Wanted:
    int number                  # of its group
    int16_t *scores
    size_t place                # in the memo
    uint64_t identity           # a hash of what the part is made from


# A part that is being made, from features of the lane.
cdef struct Request:
    int first                   # its keys
    int last
    Found found                 # the ends of the lists before any of its keys
    int16_t *scores
    bint is_memorable           # is the part to be remembered?
    size_t place                # where
    uint64_t identity


# A part that was remembered and is on its way to be kept.
cdef struct Recall:
    const int16_t *remembered
    int16_t *scores


# What is done next: a class, its score, and its lead over the best other transition.
cdef struct Step:
    int number
    int32_t score
    int32_t margin


# One sentence on its way.
cdef struct Lane:
    Configuration c
    int64_t sentence            # -1 when the lane is idle
    const uint64_t *values
    int room                    # words the arrays have room for
    Kept *kept                  # by word
    int16_t *kept_scores        # by word: KEPT parts
    Kept right_kept
    int16_t *right_scores       # RIGHT_KEPT parts
    int16_t *pair_scores        # PAIR_KEPT parts
    int16_t *scores             # of all columns
    int32_t nodes[NODES]
    int wants
    Wanted wanted[PAIR]
    int requests                # of PAIR, and of the parts that must be made
    Request request[PAIR + 2]   # and a last one, for where it was found
    int recalls
    Recall recall[PAIR]
    uint64_t keys[MOST_KEYS]
    const CommonBucket *homes[MOST_KEYS]    # of the keys
    const int16_t *rows[PAIR + MOST_KEYS]   # parts, where Decoder.row_of says, and from PAIR on dense rows that were found
    const Pair *sparse[MOST_KEYS]
    Rare rare[MOST_KEYS]


cdef inline bint is_there(uint64_t tag, uint64_t identity) noexcept nogil:
    """Has the place of this tag this part? An empty one, with a tag of 0, has none: identities are odd."""
    return (tag ^ identity) << MISSED == 0


cdef inline uint64_t with_missed(uint64_t tag, uint64_t identity) noexcept nogil:
    """The tag, with the mark of a part that is not there."""
    return (tag & ~<uint64_t>0 >> MISSED) | (identity >> MISSED) << KNOWN


cdef inline bint is_welcome(uint64_t tag, uint64_t identity) noexcept nogil:
    """Is this part to be remembered in the place of this tag?"""
    return (tag << MISSED == 0) | (tag == with_missed(tag, identity))


@cython.final
cdef class Decoder:
    """A model and the workspace of one thread."""
    cdef FrozenWeights weights
    cdef Program program
    cdef bint explicit_root
    cdef bint monotonic
    cdef bint single_root
    cdef int root_label
    cdef Lane lanes[LANES]
    cdef int row_of[PAIR]           # where the part of a group is among the rows of a lane
    cdef int first_row              # from there on to PAIR are the groups that have templates
    cdef uint64_t factors[MOST_CELLS + 1]   # of the values that a part was made from, in the hash of them
    cdef int places                 # of the memo of one group
    cdef int16_t *memo              # by group (but for PAIR) and place: parts
    cdef uint64_t *tags             # of the same places
    cdef int64_t counts[COUNTED]
    cdef list steps                 # of the sentence that is being traced

    def __cinit__(self, FrozenWeights weights, Program program, bint explicit_root, bint monotonic, int root_label,
                  int places=MOST_MEMO):
        cdef int lane, cell, group
        self.weights = weights
        self.program = program
        self.explicit_root = explicit_root
        self.monotonic = monotonic
        self.root_label = root_label
        self.places = max(1, min(places, MEMO_SCORES // (PAIR * weights.width)))
        self.tags = <uint64_t *>calloc(PAIR * self.places, sizeof(uint64_t))
        self.memo = <int16_t *>allocate(PAIR * self.places * <size_t>weights.width * sizeof(int16_t))
        if self.tags == NULL or self.memo == NULL:
            raise MemoryError()
        self.first_row = PAIR
        for group in range(PAIR):
            self.first_row -= program.groups[group].templates > 0
            self.row_of[group] = self.first_row if program.groups[group].templates > 0 else 0
        for cell in range(MOST_CELLS):      # a distance that nobody asks for counts for nothing
            self.factors[cell] = finish(mix(MEMO_SEED, cell)) | 1
        for lane in range(LANES):
            self.lanes[lane].sentence = self.lanes[lane].room = -1
            self.lanes[lane].right_scores = <int16_t *>calloc(
                (RIGHT_KEPT + PAIR_KEPT + 1) * weights.width, sizeof(int16_t)
            )
            if self.lanes[lane].right_scores == NULL:
                raise MemoryError()
            self.lanes[lane].pair_scores = self.lanes[lane].right_scores + RIGHT_KEPT * weights.width
            self.lanes[lane].scores = self.lanes[lane].pair_scores + PAIR_KEPT * weights.width
            self.show(&self.lanes[lane], RIGHT_WORD, RIGHT_KEPT, self.lanes[lane].right_scores)

    def __dealloc__(self):
        cdef int lane
        free(self.tags)
        free(self.memo)
        for lane in range(LANES):
            release(&self.lanes[lane].c)
            free(self.lanes[lane].kept)
            free(self.lanes[lane].kept_scores)
            free(self.lanes[lane].right_scores)

    cdef int begin(self, Lane *lane, Sentences sentences, int64_t index) except -1 nogil:
        """Put a sentence into a lane."""
        cdef int n = length_of(sentences, index), room
        reserve(&lane.c, n)
        if n > lane.room or lane.room > ROOMY * (n + ROOMY):
            free(lane.kept)
            free(lane.kept_scores)
            room = n + n // 2 + 64
            lane.room = -1              # until there is room again
            lane.kept = <Kept *>malloc(<size_t>(room + 2) * sizeof(Kept))
            lane.kept_scores = <int16_t *>malloc(KEPT * <size_t>(room + 2) * self.weights.width * sizeof(int16_t))
            if lane.kept == NULL or lane.kept_scores == NULL:
                with gil:
                    raise MemoryError("no memory for a sentence")
            lane.room = room
        start(&lane.c, n, self.explicit_root)
        memset(lane.kept, 0, <size_t>(n + 2) * sizeof(Kept))
        memset(&lane.right_kept, 0, sizeof(Kept))
        lane.values = values_of(sentences, index)
        lane.sentence = index
        return 0

    cdef void want_pair(self, Lane *lane, uint64_t *cells, uint64_t *gates) noexcept nogil:
        """Fetch the values of both focus words, and begin to fetch the gates."""
        cdef const Group *pair = &self.program.groups[PAIR]
        cdef int k
        load_cells(pair, &lane.c, lane.nodes, lane.values, self.program.width, cells)
        for k in range(pair.gates):
            gates[k] = make_key(pair, cells, pair.gate[k])
            call_gate(&self.weights.tables, gates[k])

    cdef void ask_for_pair(self, Lane *lane, const uint64_t *cells, const uint64_t *gates) noexcept nogil:
        """Ask for the features of both focus words, but for those behind a gate that is shut."""
        cdef const Group *pair = &self.program.groups[PAIR]
        cdef const Tables *tables = &self.weights.tables
        cdef int asked = make_ungated_keys(pair, cells, lane.keys), gate, k
        for gate in range(pair.gates):
            if may_know(tables, gates[gate]):
                lane.keys[asked] = gates[gate]
                asked += 1
                for k in range(pair.gate[gate] + 1, pair.gate[gate + 1]):
                    lane.keys[asked] = make_key(pair, cells, k)
                    asked += 1
        for k in range(asked):
            lane.homes[k] = call(tables, lane.keys[k])
        lane.request[0].first = 0
        lane.request[0].last = asked
        lane.requests = 1
        lane.recalls = 0

    cdef void want(self, Lane *lane, int number, int16_t *scores) noexcept nogil:
        """Say that a part is needed, and begin to fetch what the memo has in its place."""
        cdef const Group *group = &self.program.groups[number]
        cdef Wanted *wanted = &lane.wanted[lane.wants]
        if group.templates == 0:
            return
        wanted.identity = identity_of(group, &lane.c, lane.nodes, lane.values, self.program.width, self.factors)
        wanted.place = number * self.places + <size_t>((wanted.identity >> 32) * self.places >> 32)
        wanted.number = number
        wanted.scores = scores
        prefetch(self.tags + wanted.place)
        lane.wants += 1

    cdef inline void ask_for(self, Lane *lane, const Wanted *wanted) noexcept nogil:
        """Ask for a part: from the memo, or by its features."""
        cdef int16_t *memo = self.memo + wanted.place * self.weights.width
        cdef bint is_known = is_there(self.tags[wanted.place], wanted.identity)
        if is_known:
            fetch_row(&self.weights.tables, <const char *>memo, True)
        if wanted.number >= PAIR_TAGS:
            lane.rows[self.row_of[wanted.number]] = memo if is_known else wanted.scores
        elif is_known:
            lane.recall[lane.recalls] = Recall(memo, wanted.scores)
            lane.recalls += 1
        if not is_known:
            self.ask_for_features(lane, wanted)

    cdef void ask_for_features(self, Lane *lane, const Wanted *wanted) noexcept nogil:
        """Ask for a part that nobody remembers."""
        cdef uint64_t cells[MOST_CELLS + 1]
        cdef const Group *group = &self.program.groups[wanted.number]
        cdef Request *request = &lane.request[lane.requests]
        cdef int k
        load_cells(group, &lane.c, lane.nodes, lane.values, self.program.width, cells)
        request.first = lane.request[lane.requests - 1].last
        request.last = request.first + make_ungated_keys(group, cells, lane.keys + request.first)
        request.scores = wanted.scores
        request.place = wanted.place
        request.identity = wanted.identity
        request.is_memorable = is_welcome(self.tags[wanted.place], wanted.identity)
        self.tags[wanted.place] = with_missed(self.tags[wanted.place], wanted.identity)
        for k in range(request.first, request.last):
            lane.homes[k] = call(&self.weights.tables, lane.keys[k])
        lane.requests += 1

    cdef inline void want_kept(self, Lane *lane, Kept *kept, int first, int last, int16_t *scores) noexcept nogil:
        """Parts of a focus word, those of the groups first..last-1, are needed unless the kept ones still hold."""
        cdef bint is_new = kept.changes == 0
        cdef Signature now
        cdef int group
        if kept.changes == lane.c.changes:
            return
        kept.changes = lane.c.changes
        for group in range(first, last):
            now = signature_of(&lane.c, group)
            if is_new or not is_same(&kept.signatures[group - first], &now):
                kept.signatures[group - first] = now
                self.want(lane, group, scores + (group - first) * self.weights.width)

    cdef inline void want_open(self, Lane *lane, int group, int word) noexcept nogil:
        """The part of a word as CL or CR never changes: it is needed unless it is kept."""
        cdef int place = group - FIRST_OPEN
        cdef int16_t *scores = self.scores_of(lane, word) + (LEFT_KEPT + place) * self.weights.width
        self.show(lane, group, 1, scores)
        if not lane.kept[word].is_open_known[place]:
            lane.kept[word].is_open_known[place] = True
            self.want(lane, group, scores)

    cdef inline int16_t *scores_of(self, Lane *lane, int word) noexcept nogil:
        return lane.kept_scores + KEPT * <size_t>word * self.weights.width

    cdef inline void show(self, Lane *lane, int group, int parts, const int16_t *scores) noexcept nogil:
        """Say where parts are that are added to the scores: those of some groups, one after the other."""
        cdef int place
        for place in range(parts):
            lane.rows[self.row_of[group + place]] = scores + place * self.weights.width

    cdef void ask(self, Lane *lane) noexcept nogil:
        """First turn: what does this configuration need?"""
        cdef uint64_t cells[MOST_CELLS + 1]
        cdef uint64_t gates[MOST_TEMPLATES]
        cdef int16_t *left = self.scores_of(lane, lane.c.i)
        cdef int place, k
        locate(&lane.c, lane.nodes)
        self.want_pair(lane, cells, gates)
        lane.wants = 0
        for place in range(PAIR_KEPT):
            self.want(lane, PAIR_TAGS + place, lane.pair_scores + place * self.weights.width)
        self.want_kept(lane, &lane.kept[lane.c.i], LEFT_WORD, RIGHT_WORD, left)
        self.want_kept(lane, &lane.right_kept, RIGHT_WORD, FIRST_OPEN, lane.right_scores)
        self.show(lane, LEFT_WORD, LEFT_KEPT, left)
        self.want_open(lane, FIRST_OPEN, lane.c.open_first)
        self.want_open(lane, LAST_OPEN, lane.c.open_last)
        self.ask_for_pair(lane, cells, gates)
        for k in range(lane.wants):
            self.ask_for(lane, &lane.wanted[k])

    cdef void look_up(self, Lane *lane) noexcept nogil:
        """Second turn: keep what was remembered, find the features and call for their weights."""
        cdef const Tables *tables = &self.weights.tables
        cdef Found found = Found(&lane.rows[PAIR], &lane.sparse[0], &lane.rare[0])
        cdef int places[MOST_KEYS]
        cdef int r, k
        for r in range(lane.recalls):
            memcpy(lane.recall[r].scores, lane.recall[r].remembered, self.weights.width * sizeof(int16_t))
        for k in range(lane.request[lane.requests - 1].last):       # nothing to guess wrong, so that loads overlap
            places[k] = look(lane.homes[k], lane.keys[k])
        for r in range(lane.requests):
            lane.request[r].found = found
            for k in range(lane.request[r].first, lane.request[r].last):
                find(tables, lane.homes[k], lane.keys[k], places[k], &found)
        lane.request[lane.requests].found = found

    cdef inline void add(self, const Request *request, const int16_t **rows, int16_t *scores) noexcept nogil:
        """Add up dense rows, from these to the last that was found for a request, and all else that was found for it."""
        add_up(&self.weights.tables, rows, &request.found, &request[1].found, scores, self.weights.width)

    cdef void make_parts(self, Lane *lane) noexcept nogil:
        """Third turn: add up the parts that have to be made."""
        cdef const Request *request
        cdef int k
        for k in range(1, lane.requests):
            request = &lane.request[k]
            self.add(request, request.found.dense, request.scores)

    cdef void score(self, Lane *lane) noexcept nogil:
        """Fourth turn: the scores of all columns."""
        self.add(&lane.request[0], &lane.rows[self.first_row], lane.scores)

    cdef void remember(self, Lane *lane) noexcept nogil:
        """Put the parts that were made into the memo, when no lane looks at what is there any more."""
        cdef const Request *request
        cdef int k
        for k in range(1, lane.requests):
            request = &lane.request[k]
            if request.is_memorable:
                memcpy(self.memo + request.place * self.weights.width, request.scores, self.weights.width * sizeof(int16_t))
                self.tags[request.place] = request.identity

    cdef inline int best_arc(self, Lane *lane, int transition) noexcept nogil:
        """The best class of LeftArc or RightArc, the first if there are several."""
        cdef int column = self.weights.first_column[transition]
        cdef int16_t largest = self.best_of(lane, transition)
        while lane.scores[column] != largest:
            column += 1
        return self.weights.classes[column]

    cdef inline int16_t best_of(self, Lane *lane, int transition) noexcept nogil:
        cdef const int *first = &self.weights.first_column[transition]
        return largest_of(lane.scores + first[0], first[1] - first[0])

    cdef inline int32_t score_of(self, Lane *lane, int transition) noexcept nogil:
        """The score that decides about a transition, or NEVER where it is not allowed."""
        if transition < LEFT_ARC:
            return lane.scores[transition]
        if transition == LEFT_ARC and lane.c.i == 0:
            return NEVER
        if (self.monotonic or self.weights.own_repairs) and is_repair(&lane.c, transition):
            if self.monotonic:
                return NEVER
            return lane.scores[self.weights.first_column[TRANSITION_COUNT] + (transition == RIGHT_ARC)]
        return self.best_of(lane, transition)

    cdef void decide(self, Lane *lane, Step *best) noexcept nogil:
        """The best transition that is allowed, with its best label."""
        cdef int32_t score, second = NEVER
        cdef int transition
        best.number, best.score = SHIFT, lane.scores[<int>SHIFT]
        for transition in range(1, 4):
            score = self.score_of(lane, transition)
            if score > best.score:
                second = best.score
                best.number, best.score = transition, score
            elif score > second:
                second = score
        best.margin = best.score - second
        if best.number >= LEFT_ARC:
            best.number = self.best_arc(lane, best.number)

    cdef void take(self, Lane *lane, int number, int32_t margin, const int32_t *gold, float *margins) noexcept nogil:
        """Apply a class and count what it does."""
        cdef int dependent, head, old, above, removed, label = label_of(number, self.weights.labels)
        if number == 0:
            self.counts[<int>SHIFT] += 1
            shift(&lane.c)
            memset(&lane.right_kept, 0, sizeof(Kept))
            return
        if number == 1:
            self.counts[<int>NO_ARC] += 1
            no_arc(&lane.c)
            return
        if transition_of(number, self.weights.labels) == LEFT_ARC:
            self.counts[<int>LEFT_ARC] += 1
            dependent, head = lane.c.i, lane.c.j
            old, above = lane.c.head[dependent], lane.c.head[head]
            removed = left_arc(&lane.c, label)
        else:
            self.counts[<int>RIGHT_ARC] += 1
            dependent, head = lane.c.j, lane.c.i
            old, above = lane.c.head[dependent], lane.c.head[head]
            removed = right_arc(&lane.c, label)
        if margins != NULL:
            margins[dependent] = <float>margin
            if removed & CYCLE_ARC:
                margins[head] = NAN         # the new head has lost its own
        if removed:
            self.counts[NON_MONOTONIC] += 1
            if gold != NULL:
                if head == gold[dependent]:
                    self.counts[REPAIRS_TO_GOLD] += 1
                elif (removed & OLD_HEAD and old == gold[dependent]) or (removed & CYCLE_ARC and above == gold[head]):
                    self.counts[REPAIRS_HARMFUL] += 1

    cdef void finish(self, Lane *lane, float *margins) noexcept nogil:
        """Make a tree of the forest: words without a head hang from the root, or from its one dependent.

        That one is the first that the parser has attached to the root, or else the first without a head.
        """
        cdef int word, root = 0
        for word in range(lane.c.n, 0, -1):
            if lane.c.head[word] <= 0 and (root == 0 or lane.c.head[word] >= lane.c.head[root]):
                root = word
        for word in range(1, lane.c.n + 1):
            if lane.c.head[word] > 0:
                continue
            if self.single_root and word != root:
                self.hang(lane, word, root)
                if margins != NULL:
                    margins[word] = NAN
            else:
                lane.c.head[word] = 0
                if label_at(&lane.c, word) < 0:
                    set_label(&lane.c, word, self.root_label)

    cdef void hang(self, Lane *lane, int word, int root) noexcept nogil:
        """Attach a left-over word to the root's dependent, with the label that the model likes best there."""
        cdef int number
        detach(&lane.c, word)
        lane.c.i = word if word < root else root
        lane.c.j = root if word < root else word
        find_open_words(&lane.c)
        memset(&lane.kept[lane.c.i], 0, sizeof(Kept))
        memset(&lane.right_kept, 0, sizeof(Kept))
        self.ask(lane)
        self.look_up(lane)
        self.make_parts(lane)
        self.score(lane)
        number = self.best_arc(lane, LEFT_ARC if word < root else RIGHT_ARC)
        attach(&lane.c, word, root, label_of(number, self.weights.labels))

    def run(self, Sentences sentences, int64_t first, int64_t last, int64_t longest, bint single_root,
            int32_t[::1] heads, int32_t[::1] labels, float[::1] margins=None, const int32_t[::1] gold=None):
        """Parse the sentences first..last-1; longer ones than `longest` are left as they are."""
        cdef int64_t following = first, base
        cdef int busy = 1, working, word, l
        cdef Step step
        cdef Lane *lane
        cdef Lane *at_work[LANES]       # those that have a configuration to decide about
        if sentences.tokens == 0:
            return
        self.single_root = single_root
        with nogil:
            while busy:
                busy = working = 0
                for l in range(LANES):
                    lane = &self.lanes[l]
                    if lane.sentence < 0:
                        while following < last and not 0 < length_of(sentences, following) <= longest:
                            following += 1
                        if following == last:
                            continue
                        self.begin(lane, sentences, following)
                        following += 1
                    busy += 1
                    while lane.c.i < lane.c.first and lane.c.j <= lane.c.n:
                        self.take(lane, 0, 0, NULL, NULL)       # nothing but Shift is possible
                    if lane.c.j <= lane.c.n:
                        self.ask(lane)
                        at_work[working] = lane
                        working += 1
                for l in range(working):
                    self.look_up(at_work[l])
                for l in range(working):
                    self.make_parts(at_work[l])
                for l in range(working):
                    self.score(at_work[l])
                for l in range(working):
                    lane = at_work[l]
                    base = sentences.offsets[lane.sentence]
                    self.remember(lane)
                    self.decide(lane, &step)
                    if self.steps is not None:
                        with gil:
                            self.steps.append((lane.c.i, lane.c.j, step.number, step.score, step.margin))
                    self.take(lane, step.number, step.margin, NULL if gold is None else &gold[base] - 1,
                              NULL if margins is None else &margins[base] - 1)
                for l in range(LANES):
                    lane = &self.lanes[l]
                    if lane.sentence >= 0 and lane.c.j > lane.c.n:
                        base = sentences.offsets[lane.sentence]
                        self.finish(lane, NULL if margins is None else &margins[base] - 1)
                        for word in range(1, lane.c.n + 1):
                            heads[base + word - 1] = lane.c.head[word]
                            labels[base + word - 1] = label_at(&lane.c, word)
                        lane.sentence = -1

    def take_counts(self):
        """Transitions by kind and the error analysis since the last call."""
        taken = {name: self.counts[number] for name, number in COUNTS.items()}
        memset(self.counts, 0, sizeof(self.counts))
        return taken

    def trace(self, Sentences sentences):
        """The steps of the first sentence: (i, j, class, score, margin)."""
        words = np.empty(sentences.tokens, dtype=np.int32)
        self.steps = []
        try:
            self.run(sentences, 0, 1, 1 << 30, True, words, words.copy())
            return self.steps
        finally:
            self.steps = None

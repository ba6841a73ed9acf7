"""The linear scorer: scores are sums of frozen weights of the features that fire, the GIL released.

A configuration's scores are the sum of parts that depend on the left focus word, on its heads, on its dependents, and so
on (templates.GROUPS). A part is kept with the word and made again only when what it depends on has changed; and since
the same words and tags meet again and again, a small memo per group has parts that were made for other words. Most parts
are met only once, so a part gets a place that another one has only when it is missed there twice in a row.

A model is larger than the processor's caches, so most of the time of a plain loop would go into waiting for memory. The
lanes therefore take turns: while the weights that one lane has asked for are on their way, the others compute. What comes
out does not depend on any of this.
"""

cimport cython
from libc.stdint cimport int16_t, int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from covington.base.hashing cimport finish, mix
from covington.features.program cimport (
    FIRST_OPEN, LAST_OPEN, LEFT_WORD, MOST_CELLS, MOST_KEYS, MOST_TEMPLATES, NODES, PAIR, PAIR_TAGS, RIGHT_WORD, Group,
    Program, Signature, identity_of, is_same, load_cells, locate, make_key, make_ungated_keys, signature_of,
)
from covington.features.sentences cimport Sentences, length_of, values_of
from covington.scorers.frozen cimport (
    CommonBucket, Found, FrozenWeights, Rare, Tables, add_up, call, call_gate, fetch_row, find, look, may_know,
)
from covington.scorers.kernels cimport Pair, allocate, largest_of, prefetch
from covington.scorers.scorer cimport LANES, NEVER, Lane, Scorer
from covington.transition.classes cimport ClassTable, label_of
from covington.transition.configuration cimport Configuration
from covington.transition.system cimport MAX_TRANSITIONS, Surroundings, System, bit

cdef enum:
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


# What is known of the sentence of a lane.
cdef struct Workspace:
    const Configuration *c
    const uint64_t *values
    int room                    # words the arrays have room for
    Kept *kept                  # by word
    int16_t *kept_scores        # by word: KEPT parts
    Kept right_kept
    int right_word              # that it is of
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
    const int16_t *rows[PAIR + MOST_KEYS]   # parts, where LinearScorer.row_of says, and from PAIR on dense rows that were found
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
cdef class LinearScorer(Scorer):
    """Frozen weights and templates at work for one decoder."""
    cdef FrozenWeights weights
    cdef Program program
    cdef System system
    cdef Sentences sentences
    cdef Workspace workspaces[LANES]
    cdef int row_of[PAIR]           # where the part of a group is among the rows of a lane
    cdef int first_row              # from there on to PAIR are the groups that have templates
    cdef uint64_t factors[MOST_CELLS + 1]   # of the values that a part was made from, in the hash of them
    cdef int places                 # of the memo of one group
    cdef int16_t *memo              # by group (but for PAIR) and place: parts
    cdef uint64_t *tags             # of the same places

    def __cinit__(self, FrozenWeights weights, Program program, System system, double scale, int places=MOST_MEMO):
        cdef int lane, cell, group
        cdef Workspace *work
        self.weights = weights
        self.program = program
        self.system = system
        self.labels = weights.table.labels
        self.scale = scale
        self.places = max(1, min(places, MEMO_SCORES // (PAIR * weights.width)))
        self.tags = <uint64_t *>calloc(PAIR * self.places, sizeof(uint64_t))
        self.memo = <int16_t *>allocate(PAIR * self.places * <size_t>weights.width * sizeof(int16_t))
        if self.tags == NULL or self.memo == NULL:
            raise MemoryError()
        self.first_row = PAIR
        for group in range(PAIR):
            self.first_row -= program.groups[group].templates > 0
            self.row_of[group] = self.first_row if program.groups[group].templates > 0 else 0
        for cell in range(MOST_CELLS):      # a distance that no template asks for counts for nothing
            self.factors[cell] = finish(mix(MEMO_SEED, cell)) | 1
        for lane in range(LANES):
            work = &self.workspaces[lane]
            work.room = -1
            work.right_scores = <int16_t *>calloc((RIGHT_KEPT + PAIR_KEPT + 1) * weights.width, sizeof(int16_t))
            if work.right_scores == NULL:
                raise MemoryError()
            work.pair_scores = work.right_scores + RIGHT_KEPT * weights.width
            work.scores = work.pair_scores + PAIR_KEPT * weights.width
            self.show(work, RIGHT_WORD, RIGHT_KEPT, work.right_scores)

    def __dealloc__(self):
        cdef int lane
        free(self.tags)
        free(self.memo)
        for lane in range(LANES):
            free(self.workspaces[lane].kept)
            free(self.workspaces[lane].kept_scores)
            free(self.workspaces[lane].right_scores)

    def load(self, Sentences sentences not None):
        self.sentences = sentences

    cdef int begin(self, const Lane *lane, int64_t sentence) except -1 nogil:
        """Make room for a sentence; nothing is kept of the one before."""
        cdef Workspace *work = &self.workspaces[lane.number]
        cdef int n = lane.c.n, room
        if n > work.room or work.room > ROOMY * (n + ROOMY):
            free(work.kept)
            free(work.kept_scores)
            room = n + n // 2 + 64
            work.room = -1              # until there is room again
            work.kept = <Kept *>malloc(<size_t>(room + 2) * sizeof(Kept))
            work.kept_scores = <int16_t *>malloc(KEPT * <size_t>(room + 2) * self.weights.width * sizeof(int16_t))
            if work.kept == NULL or work.kept_scores == NULL:
                with gil:
                    raise MemoryError("no memory for a sentence")
            work.room = room
        memset(work.kept, 0, <size_t>(n + 2) * sizeof(Kept))
        work.right_word = -1
        work.c = &lane.c
        work.values = values_of(self.sentences, sentence)
        return 0

    cdef void score(self, Lane **lanes, int count) noexcept nogil:
        """Four turns for all lanes: what each has asked for in one is there in the next."""
        cdef int l
        for l in range(count):
            self.ask(&self.workspaces[lanes[l].number])
        for l in range(count):
            self.look_up(&self.workspaces[lanes[l].number])
        for l in range(count):
            self.make_parts(&self.workspaces[lanes[l].number])
        for l in range(count):
            self.add_all(&self.workspaces[lanes[l].number])
        for l in range(count):
            self.remember(&self.workspaces[lanes[l].number])

    cdef void transition_scores(self, const Lane *lane, int32_t *scores) noexcept nogil:
        cdef const int16_t *columns = self.workspaces[lane.number].scores
        cdef const int *first = self.weights.first_column
        cdef const ClassTable *table = &self.weights.table
        cdef uint32_t repairs = lane.moves.repairs if table.own_repairs else 0
        cdef int transition
        for transition in range(table.unlabelled):
            scores[transition] = columns[transition] if lane.moves.allowed & bit(transition) else NEVER
        for transition in range(table.unlabelled, table.transitions):
            if not lane.moves.allowed & bit(transition):
                scores[transition] = NEVER
            elif repairs & bit(transition):
                scores[transition] = columns[self.weights.repair_column(transition)]
            else:
                scores[transition] = largest_of(columns + first[transition], first[transition + 1] - first[transition])

    cdef int best_label(self, const Lane *lane, int transition) noexcept nogil:
        cdef const int16_t *columns = self.workspaces[lane.number].scores
        cdef int column = self.weights.first_column[transition]
        cdef int16_t largest = largest_of(columns + column, self.weights.first_column[transition + 1] - column)
        while columns[column] != largest:
            column += 1
        return label_of(&self.weights.table, self.weights.classes[column])

    cdef void forget(self, const Lane *lane) noexcept nogil:
        cdef Workspace *work = &self.workspaces[lane.number]
        memset(&work.kept[lane.c.i], 0, sizeof(Kept))
        work.right_word = -1

    cdef void want_pair(self, Workspace *work, uint64_t *cells, uint64_t *gates) noexcept nogil:
        """Fetch the values of both focus words, and begin to fetch the gates."""
        cdef const Group *pair = &self.program.groups[PAIR]
        cdef int k
        load_cells(pair, work.c, work.nodes, work.values, self.program.width, cells)
        for k in range(pair.gates):
            gates[k] = make_key(pair, cells, pair.gate[k])
            call_gate(&self.weights.tables, gates[k])

    cdef void ask_for_pair(self, Workspace *work, const uint64_t *cells, const uint64_t *gates) noexcept nogil:
        """Ask for the features of both focus words, but for those behind a gate that is shut."""
        cdef const Group *pair = &self.program.groups[PAIR]
        cdef const Tables *tables = &self.weights.tables
        cdef int asked = make_ungated_keys(pair, cells, work.keys), gate, k
        for gate in range(pair.gates):
            if may_know(tables, gates[gate]):
                work.keys[asked] = gates[gate]
                asked += 1
                for k in range(pair.gate[gate] + 1, pair.gate[gate + 1]):
                    work.keys[asked] = make_key(pair, cells, k)
                    asked += 1
        for k in range(asked):
            work.homes[k] = call(tables, work.keys[k])
        work.request[0].first = 0
        work.request[0].last = asked
        work.requests = 1
        work.recalls = 0

    cdef void want(self, Workspace *work, int number, int16_t *scores) noexcept nogil:
        """Say that a part is needed, and begin to fetch what the memo has in its place."""
        cdef const Group *group = &self.program.groups[number]
        cdef Wanted *wanted = &work.wanted[work.wants]
        if group.templates == 0:
            return
        wanted.identity = identity_of(group, work.c, work.nodes, work.values, self.program.width, self.factors)
        wanted.place = number * self.places + <size_t>((wanted.identity >> 32) * self.places >> 32)
        wanted.number = number
        wanted.scores = scores
        prefetch(self.tags + wanted.place)
        work.wants += 1

    cdef inline void ask_for(self, Workspace *work, const Wanted *wanted) noexcept nogil:
        """Ask for a part: from the memo, or by its features."""
        cdef int16_t *memo = self.memo + wanted.place * self.weights.width
        cdef bint is_known = is_there(self.tags[wanted.place], wanted.identity)
        if is_known:
            fetch_row(&self.weights.tables, <const char *>memo, True)
        if wanted.number >= PAIR_TAGS:
            work.rows[self.row_of[wanted.number]] = memo if is_known else wanted.scores
        elif is_known:
            work.recall[work.recalls] = Recall(memo, wanted.scores)
            work.recalls += 1
        if not is_known:
            self.ask_for_features(work, wanted)

    cdef void ask_for_features(self, Workspace *work, const Wanted *wanted) noexcept nogil:
        """Ask for a part that is not in the memo."""
        cdef uint64_t cells[MOST_CELLS + 1]
        cdef const Group *group = &self.program.groups[wanted.number]
        cdef Request *request = &work.request[work.requests]
        cdef int k
        load_cells(group, work.c, work.nodes, work.values, self.program.width, cells)
        request.first = work.request[work.requests - 1].last
        request.last = request.first + make_ungated_keys(group, cells, work.keys + request.first)
        request.scores = wanted.scores
        request.place = wanted.place
        request.identity = wanted.identity
        request.is_memorable = is_welcome(self.tags[wanted.place], wanted.identity)
        self.tags[wanted.place] = with_missed(self.tags[wanted.place], wanted.identity)
        for k in range(request.first, request.last):
            work.homes[k] = call(&self.weights.tables, work.keys[k])
        work.requests += 1

    cdef inline void want_kept(self, Workspace *work, Kept *kept, int first, int last, int16_t *scores) noexcept nogil:
        """Parts of a focus word, those of the groups first..last-1, are needed unless the kept ones still hold."""
        cdef bint is_new = kept.changes == 0
        cdef Signature now
        cdef int group
        if kept.changes == work.c.changes:
            return
        kept.changes = work.c.changes
        for group in range(first, last):
            now = signature_of(work.c, group)
            if is_new or not is_same(&kept.signatures[group - first], &now):
                kept.signatures[group - first] = now
                self.want(work, group, scores + (group - first) * self.weights.width)

    cdef inline void want_open(self, Workspace *work, int group, int word) noexcept nogil:
        """The part of a word as CL or CR never changes: it is needed unless it is kept."""
        cdef int place = group - FIRST_OPEN
        cdef int16_t *scores = self.scores_of(work, word) + (LEFT_KEPT + place) * self.weights.width
        self.show(work, group, 1, scores)
        if not work.kept[word].is_open_known[place]:
            work.kept[word].is_open_known[place] = True
            self.want(work, group, scores)

    cdef inline int16_t *scores_of(self, Workspace *work, int word) noexcept nogil:
        return work.kept_scores + KEPT * <size_t>word * self.weights.width

    cdef inline void show(self, Workspace *work, int group, int parts, const int16_t *scores) noexcept nogil:
        """Say where parts are that are added to the scores: those of some groups, one after the other."""
        cdef int place
        for place in range(parts):
            work.rows[self.row_of[group + place]] = scores + place * self.weights.width

    cdef void ask(self, Workspace *work) noexcept nogil:
        """First turn: what does this configuration need?"""
        cdef uint64_t cells[MOST_CELLS + 1]
        cdef uint64_t gates[MOST_TEMPLATES]
        cdef Surroundings around
        cdef int16_t *left = self.scores_of(work, work.c.i)
        cdef int place, k
        if work.right_word != work.c.j:
            work.right_word = work.c.j
            memset(&work.right_kept, 0, sizeof(Kept))
        self.system.look_around(work.c, &around)
        locate(work.c, &around, work.nodes)
        self.want_pair(work, cells, gates)
        work.wants = 0
        for place in range(PAIR_KEPT):
            self.want(work, PAIR_TAGS + place, work.pair_scores + place * self.weights.width)
        self.want_kept(work, &work.kept[work.c.i], LEFT_WORD, RIGHT_WORD, left)
        self.want_kept(work, &work.right_kept, RIGHT_WORD, FIRST_OPEN, work.right_scores)
        self.show(work, LEFT_WORD, LEFT_KEPT, left)
        self.want_open(work, FIRST_OPEN, work.c.open_first)
        self.want_open(work, LAST_OPEN, work.c.open_last)
        self.ask_for_pair(work, cells, gates)
        for k in range(work.wants):
            self.ask_for(work, &work.wanted[k])

    cdef void look_up(self, Workspace *work) noexcept nogil:
        """Second turn: keep what was remembered, find the features and call for their weights."""
        cdef const Tables *tables = &self.weights.tables
        cdef Found found = Found(&work.rows[PAIR], &work.sparse[0], &work.rare[0])
        cdef int places[MOST_KEYS]
        cdef int r, k
        for r in range(work.recalls):
            memcpy(work.recall[r].scores, work.recall[r].remembered, self.weights.width * sizeof(int16_t))
        for k in range(work.request[work.requests - 1].last):       # nothing to guess wrong, so that loads overlap
            places[k] = look(work.homes[k], work.keys[k])
        for r in range(work.requests):
            work.request[r].found = found
            for k in range(work.request[r].first, work.request[r].last):
                find(tables, work.homes[k], work.keys[k], places[k], &found)
        work.request[work.requests].found = found

    cdef inline void add(self, const Request *request, const int16_t **rows, int16_t *scores) noexcept nogil:
        """Add up dense rows, from these to the last that was found for a request, and all else that was found for it."""
        add_up(&self.weights.tables, rows, &request.found, &request[1].found, scores, self.weights.width)

    cdef void make_parts(self, Workspace *work) noexcept nogil:
        """Third turn: add up the parts that have to be made."""
        cdef const Request *request
        cdef int k
        for k in range(1, work.requests):
            request = &work.request[k]
            self.add(request, request.found.dense, request.scores)

    cdef void add_all(self, Workspace *work) noexcept nogil:
        """Fourth turn: the scores of all columns."""
        self.add(&work.request[0], &work.rows[self.first_row], work.scores)

    cdef void remember(self, Workspace *work) noexcept nogil:
        """Put the parts that were made into the memo, when no lane looks at what is there any more."""
        cdef const Request *request
        cdef int k
        for k in range(1, work.requests):
            request = &work.request[k]
            if request.is_memorable:
                memcpy(self.memo + request.place * self.weights.width, request.scores, self.weights.width * sizeof(int16_t))
                self.tags[request.place] = request.identity

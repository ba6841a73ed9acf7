"""Costs of transitions under the static, the monotonic and the three non-monotonic oracles."""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from covington.transition.cycles cimport (
    Scratch, count_cycles, hoped_head, is_lost, reaches, release_scratch, reserve_scratch, spare_stamps,
)
from covington.transition.configuration cimport LEFT_ARC, NO_ARC, RIGHT_ARC, SHIFT, TRANSITION_COUNT, is_ancestor
from covington.transition.gold cimport Gold, index_gold, release_gold, reserve_gold
from covington.transition.system cimport FORBIDDEN, Costs, bit, note_best

from covington.base.agreement import require_same_order
from covington.transition.names import ORACLES

cdef enum:
    # More cycles than this cannot be told apart while training; no sentence of a treebank comes near.
    CYCLE_LIMIT = 4096

require_same_order(
    "the oracles", ORACLES,
    {"static": STATIC, "monotonic": MONOTONIC, "lower": LOWER, "pc-upper": PC_UPPER, "upper": UPPER},
)


cdef inline void note_gold_arcs(Costs *costs, const Gold *gold, const Focus *at) noexcept nogil:
    costs.gold = 0
    if at.i > 0 and gold.head[at.i] == at.j:
        costs.gold |= bit(LEFT_ARC)
    if gold.head[at.j] == at.i and at.i >= at.first:
        costs.gold |= bit(RIGHT_ARC)


cdef inline bint left_is_gold(const Costs *costs) noexcept nogil:
    return costs.gold & bit(LEFT_ARC) != 0


cdef inline bint right_is_gold(const Costs *costs) noexcept nogil:
    return costs.gold & bit(RIGHT_ARC) != 0


cdef void static_costs(Costs *costs, const Gold *gold, const Focus *at) noexcept nogil:
    """One right transition: the gold arc, else NoArc while j has a gold arc further left, else Shift."""
    cdef int transition
    note_gold_arcs(costs, gold, at)
    for transition in range(TRANSITION_COUNT):
        costs.loss[transition] = FORBIDDEN
    if left_is_gold(costs):
        costs.loss[<int>LEFT_ARC] = 0
    elif right_is_gold(costs):
        costs.loss[<int>RIGHT_ARC] = 0
    elif gold.leftmost[at.j] < at.i:
        costs.loss[<int>NO_ARC] = 0
    else:
        costs.loss[<int>SHIFT] = 0
    costs.best = 0


# ---- monotonic: Algorithm 1 -----------------------------------------------------------------------
#
# Let f give each word its head in A or, if it has none, its gold head while that arc is not out of reach. A gold
# arc that would join two words of one component of A closes a cycle of f on its own, and the cycles of A ∪ I are
# the other cycles of f. Each of either kind costs one arc, so the loss is the number of words whose gold arc is
# out of reach or shut out by another head, plus the number of cycles of f.

cdef inline int32_t hope_of(const Gold *gold, const Focus *at, int word, int i, int j) noexcept nogil:
    """1 if the word has no head and its gold arc can still be built (implicit root: or it is gold that way)."""
    if at.head[word] != at.nothing:
        return 0
    if gold.head[word] < at.first:
        return 1
    return not is_lost(gold.head[word], word, i, j)


cdef int32_t functional_cycles(const Gold *gold, const Focus *at, int dependent, int head, int i, int j,
                               Scratch *scratch) noexcept nogil:
    """The cycles of f with the focus on (i, j) and one more arc, head → dependent (0 for none)."""
    cdef int32_t cycles = 0, entered
    cdef int word, above
    spare_stamps(scratch, gold.n)
    entered = scratch.stamp
    for word in range(1, gold.n + 1):
        scratch.stamp += 1
        above = word
        while above > 0 and scratch.mark[above] <= entered:
            scratch.mark[above] = scratch.stamp
            if above == dependent:
                above = head
            elif at.head[above] != at.nothing:
                above = at.head[above]
            else:
                above = hoped_head(at.head, gold.head, above, i, j)
        if above > 0 and scratch.mark[above] == scratch.stamp:
            cycles += 1
    return cycles


cdef void monotonic_costs(Costs *costs, const Gold *gold, const Focus *at, Scratch *scratch) noexcept nogil:
    """Exact: the loss after each transition that the monotonic system allows."""
    cdef int i = at.i, j = at.j, word
    cdef int32_t pair_lost, loss
    cdef bint j_is_free = at.head[j] == at.nothing
    cdef bint i_is_free = i > 0 and at.head[i] == at.nothing
    note_gold_arcs(costs, gold, at)
    pair_lost = (left_is_gold(costs) and i_is_free) + (right_is_gold(costs) and j_is_free)

    loss = right_is_gold(costs) and j_is_free
    if gold.head[j] < i and gold.head[j] >= at.first and j_is_free:
        loss += 1
    word = gold.left_dependent[j]
    while word > 0:
        if word <= i and at.head[word] == at.nothing:
            loss += 1
        word = gold.next_left[word]
    costs.loss[<int>SHIFT] = loss
    costs.loss[<int>NO_ARC] = pair_lost

    costs.loss[<int>LEFT_ARC] = FORBIDDEN
    if i_is_free and not is_ancestor(at.head, i, j):
        loss = right_is_gold(costs) and j_is_free
        if not left_is_gold(costs):
            loss += hope_of(gold, at, i, i - 1, j)
        costs.loss[<int>LEFT_ARC] = loss

    costs.loss[<int>RIGHT_ARC] = FORBIDDEN
    if j_is_free and not is_ancestor(at.head, j, i):
        loss = left_is_gold(costs) and i_is_free
        if not right_is_gold(costs):
            loss += hope_of(gold, at, j, i - 1, j)
        costs.loss[<int>RIGHT_ARC] = loss

    if at.wrong:
        costs.loss[<int>SHIFT] += functional_cycles(gold, at, 0, 0, j, j + 1, scratch)
        costs.loss[<int>NO_ARC] += functional_cycles(gold, at, 0, 0, i - 1, j, scratch)
    if costs.loss[<int>LEFT_ARC] != FORBIDDEN and (at.wrong or not left_is_gold(costs)):
        costs.loss[<int>LEFT_ARC] += functional_cycles(gold, at, i, j, i - 1, j, scratch)
    if costs.loss[<int>RIGHT_ARC] != FORBIDDEN and (at.wrong or not right_is_gold(costs)):
        costs.loss[<int>RIGHT_ARC] += functional_cycles(gold, at, j, i, i - 1, j, scratch)
    note_best(costs, TRANSITION_COUNT)


# ---- non-monotonic: Algorithm 2 -------------------------------------------------------------------

cdef inline int32_t cost_of_removal(const Gold *gold, const Focus *at, int word, bint replaced) noexcept nogil:
    """What it costs |U| that the arc into a word goes away while the left focus word moves on."""
    cdef int head = at.head[word]
    if gold.head[word] == head:                      # a gold arc, or rightly nothing (implicit root)
        return head < 1 and head == at.nothing or is_lost(head, word, at.i - 1, at.j)
    if not replaced and gold.head[word] == at.nothing:
        return -1                                    # implicit root: the word hangs from the root again
    return 0


cdef int64_t cycles_after(const Gold *gold, const Focus *at, int transition, int oracle, int64_t limit,
                          Scratch *scratch) noexcept nogil:
    """The relevant cycles of A ∪ I once the transition is done."""
    cdef int i = at.i - 1, j = at.j
    memcpy(scratch.head, at.head, (gold.n + 1) * sizeof(int32_t))
    if transition == SHIFT:
        i, j = at.j, at.j + 1
    elif transition == LEFT_ARC:
        if is_ancestor(at.head, at.i, at.j):
            scratch.head[at.j] = at.nothing
        scratch.head[at.i] = at.j
    elif transition == RIGHT_ARC:
        if at.i > 0 and is_ancestor(at.head, at.j, at.i):
            scratch.head[at.i] = at.nothing
        scratch.head[at.j] = at.i
    return count_cycles(gold.n, scratch.head, gold.head, i, j, oracle == PC_UPPER, limit, scratch)


cdef void non_monotonic_costs(Costs *costs, const Gold *gold, const Focus *at, int oracle, bint complete,
                              Scratch *scratch) noexcept nogil:
    """The bound on the loss after each transition; cycles are looked for only where there can be one.

    Unless it is to be complete, the bound of a transition that cannot be optimal may come out too low.
    """
    cdef int i = at.i, j = at.j, word, transition, dependent, head
    cdef int32_t loss, lower[TRANSITION_COUNT]
    cdef int32_t lost_left, lost_right
    cdef bint cycles_now
    note_gold_arcs(costs, gold, at)
    lost_left = left_is_gold(costs) and at.head[i] != j
    lost_right = right_is_gold(costs) and at.head[j] != i

    loss = lost_right
    if gold.head[j] < i and gold.head[j] >= at.first and at.head[j] != gold.head[j]:
        loss += 1
    word = gold.left_dependent[j]
    while word > 0:
        if word <= i and at.head[word] != j:
            loss += 1
        word = gold.next_left[word]
    costs.loss[<int>SHIFT] = loss
    costs.loss[<int>NO_ARC] = lost_left + lost_right

    costs.loss[<int>LEFT_ARC] = FORBIDDEN
    if i > 0:
        loss = lost_right
        if not left_is_gold(costs):
            loss += cost_of_removal(gold, at, i, True)
        if at.head[j] != at.nothing and is_ancestor(at.head, i, j):
            loss += cost_of_removal(gold, at, j, False)
        costs.loss[<int>LEFT_ARC] = loss

    loss = lost_left
    if not right_is_gold(costs):
        loss += cost_of_removal(gold, at, j, True)
    if i > 0 and at.head[i] != at.nothing and is_ancestor(at.head, j, i):
        loss += cost_of_removal(gold, at, i, False)
    costs.loss[<int>RIGHT_ARC] = loss
    note_best(costs, TRANSITION_COUNT)
    if oracle == LOWER:
        return

    # Shift, NoArc and gold arcs make no cycle, they only undo some; a new wrong arc can make one.
    memcpy(lower, costs.loss, sizeof(lower))
    cycles_now = at.wrong and count_cycles(gold.n, at.head, gold.head, i, j, False, 1, scratch) > 0
    if cycles_now:
        for transition in range(TRANSITION_COUNT):
            if costs.loss[transition] != FORBIDDEN:
                costs.loss[transition] += <int32_t>cycles_after(gold, at, transition, oracle, CYCLE_LIMIT, scratch)
    else:
        for transition in range(LEFT_ARC, TRANSITION_COUNT):
            if lower[transition] == FORBIDDEN or (lower[transition] > costs.best and not complete):
                continue            # it cannot win, with or without cycles
            dependent, head = (i, j) if transition == LEFT_ARC else (j, i)
            if (left_is_gold(costs) if transition == LEFT_ARC else right_is_gold(costs)) or head < 1:
                continue
            if reaches(at.head, gold.head, i - 1, j, head, dependent, scratch):
                costs.loss[transition] += <int32_t>cycles_after(gold, at, transition, oracle, CYCLE_LIMIT, scratch)
    note_best(costs, TRANSITION_COUNT)


# ---- for people who study the algorithm -----------------------------------------------------------

cdef class _Case:
    """One configuration and gold tree, copied from Python sequences that have been checked."""
    cdef Gold gold
    cdef Focus at
    cdef Scratch scratch
    cdef int32_t *head

    def __cinit__(self, heads, gold, int i, int j, bint explicit_root):
        cdef int n = len(gold), word
        self.head = <int32_t *>calloc(n + 2, sizeof(int32_t))
        if self.head == NULL:
            raise MemoryError()
        reserve_gold(&self.gold, n)
        reserve_scratch(&self.scratch, n)
        self.at = Focus(self.head, i, j, 0 if explicit_root else 1, -1 if explicit_root else 0, False)
        self.head[0] = self.at.nothing
        for word in range(1, n + 1):
            self.head[word] = heads[word - 1]
            self.gold.head[word] = gold[word - 1]
            self.at.wrong |= self.head[word] != self.at.nothing and self.head[word] != self.gold.head[word]
        index_gold(&self.gold, self.at.first)

    def __dealloc__(self):
        free(self.head)
        release_gold(&self.gold)
        release_scratch(&self.scratch)


def unreachable(heads, gold, int i, int j, bint explicit_root):
    """|U(c, t_G)| of the non-monotonic system."""
    cdef _Case case = _Case(heads, gold, i, j, explicit_root)
    cdef int word, head, lost = 0
    for word in range(1, case.gold.n + 1):
        head = case.gold.head[word]
        if case.head[word] == head:
            continue
        if head < case.at.first or is_lost(head, word, i, j):
            lost += 1
    return lost


def cycles(heads, gold, int i, int j, bint explicit_root, bint problematic):
    """n_c(A ∪ I) or n_pc(A ∪ I)."""
    cdef _Case case = _Case(heads, gold, i, j, explicit_root)
    cdef int64_t count
    with nogil:
        count = count_cycles(case.gold.n, case.head, case.gold.head, i, j, problematic,
                             <int64_t>1 << 62, &case.scratch)
    return count


def monotonic_loss(heads, gold, int i, int j, bint explicit_root):
    """Algorithm 1."""
    cdef _Case case = _Case(heads, gold, i, j, explicit_root)
    cdef int word, lost = 0
    for word in range(1, case.gold.n + 1):
        if case.head[word] != case.gold.head[word] and not hope_of(&case.gold, &case.at, word, i, j):
            lost += 1
    return lost + functional_cycles(&case.gold, &case.at, 0, 0, i, j, &case.scratch)


def transition_costs(heads, gold, int i, int j, bint explicit_root, int oracle):
    """The cost of Shift, NoArc, LeftArc and RightArc; None where the transition is not allowed."""
    cdef _Case case = _Case(heads, gold, i, j, explicit_root)
    cdef Costs costs
    if oracle == STATIC:
        static_costs(&costs, &case.gold, &case.at)
    elif oracle == MONOTONIC:
        monotonic_costs(&costs, &case.gold, &case.at, &case.scratch)
    else:
        non_monotonic_costs(&costs, &case.gold, &case.at, oracle, True, &case.scratch)
    return [None if costs.loss[transition] == FORBIDDEN else costs.loss[transition] for transition in range(TRANSITION_COUNT)]

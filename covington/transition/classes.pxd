"""The classes of a linear classifier: one per transition and label, and where repairs have their own, some for them."""


# A repair's label is the one that scores best among the plain arcs, so a transition and its label are named by the class
# of the plain arc.
cdef struct ClassTable:
    int transitions
    int unlabelled              # transitions without a label, one class each; they come first
    int labels
    bint own_repairs            # has each labelled transition one more class, for where it takes another arc away?
    int count


cdef class Classes:
    cdef ClassTable table


cdef inline int class_of(const ClassTable *table, int transition, int label) noexcept nogil:
    if transition < table.unlabelled:
        return transition
    return table.unlabelled + (transition - table.unlabelled) * table.labels + label


cdef inline int repair_class(const ClassTable *table, int transition) noexcept nogil:
    return table.unlabelled + (table.transitions - table.unlabelled) * table.labels + transition - table.unlabelled


cdef inline int transition_of(const ClassTable *table, int number) noexcept nogil:
    """The transition that a plain class stands for."""
    if number < table.unlabelled:
        return number
    return table.unlabelled + (number - table.unlabelled) // table.labels


cdef inline int label_of(const ClassTable *table, int number) noexcept nogil:
    """The label of a plain class of a labelled transition."""
    return (number - table.unlabelled) % table.labels

"""The numbers of classes: unlabelled transitions, then an arc for every label, then repairs."""

from covington.transition.system cimport System


cdef class Classes:
    """The classes of a system for a number of labels."""

    def __cinit__(self, System system, int labels, bint own_repairs):
        cdef int labelled = system.count - system.unlabelled
        own_repairs = own_repairs and system.repairs
        self.table = ClassTable(system.count, system.unlabelled, labels, own_repairs, 0)
        self.table.count = system.unlabelled + labelled * labels + (labelled if own_repairs else 0)

    @property
    def labels(self):
        return self.table.labels

    @property
    def count(self):
        return self.table.count

    @property
    def sizes(self):
        """How many classes each transition has, and after them how many there are for repairs."""
        cdef int labelled = self.table.transitions - self.table.unlabelled
        return (
            *[1] * self.table.unlabelled, *[self.table.labels] * labelled, labelled if self.table.own_repairs else 0
        )

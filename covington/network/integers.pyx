"""The integers of a network, ready for the kernels of this processor; and rows of numbers that are equal."""

import os

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcmp

import numpy as np

from covington.base.hashing cimport hash_bytes

from covington.errors import OptionError
from covington.transition.systems import make_system
from covington.network.floats import KERNEL_VARIABLE

assert BLOCK == INT_ROWS


cdef class Weights:
    """A network's integers, shared by all threads."""

    def __init__(self, prepared, FormTable forms_table, group_ends, options, int labels, int root_label, kernel=None):
        """`prepared` as quantise.prepared gives it, once quantise.check has passed the arrays."""
        name = kernel or os.environ.get(KERNEL_VARIABLE) or None
        encoded = name.encode() if name else None
        self.net.kernels = choose_integer_kernels(NULL if encoded is None else <const char *>encoded)
        if self.net.kernels == NULL:
            raise OptionError(f"this processor has no kernels {name!r} ({KERNEL_VARIABLE}): plain runs everywhere")
        self.kept = dict(prepared)
        self.kept["group_ends"] = np.ascontiguousarray(group_ends, dtype=np.int32)
        self.forms_table = forms_table
        self.set_matrix("first_input", &self.net.first_input)
        self.set_matrix("first_forward", &self.net.first[0])
        self.set_matrix("first_backward", &self.net.first[1])
        self.set_matrix("second_forward", &self.net.second[0])
        self.set_matrix("second_backward", &self.net.second[1])
        self.set_matrix("tag_weights", &self.net.tag_weights)
        self.set_matrix("tag_table", &self.net.tag_table)
        self.set_matrix("second_state", &self.net.second_state)
        self.set_matrix("second_tag", &self.net.second_tag)
        self.set_matrix("bottleneck", &self.net.bottleneck)
        self.set_matrix("projections", &self.net.projections)
        self.net.first_bias = <const float *>self.at("first_bias")
        self.net.tag_bias = <const float *>self.at("tag_bias")
        self.net.second_bias = <const float *>self.at("second_bias")
        self.net.bottleneck_bias = <const float *>self.at("bottleneck_bias")
        self.net.forms = <const int8_t *>self.at("forms")
        self.net.forms_scale = <const float *>self.at("forms_scale")
        self.net.subwords = <const int8_t *>self.at("subwords")
        self.net.subwords_scale = <const float *>self.at("subwords_scale")
        self.net.slot_tables = <const int16_t *>self.at("slot_tables")
        self.net.label_tables = <const int16_t *>self.at("label_tables")
        self.net.action_weights = <const int16_t *>self.at("action_weights")
        self.net.margin_unit = prepared["margin_unit"][0]
        self.net.confidence = <const float *>self.at("confidence")
        self.net.action_bias = <const int32_t *>self.at("action_bias")
        self.net.label_weights = <const int16_t *>self.at("label_weights")
        self.net.label_bias = <const int32_t *>self.at("label_bias")
        self.net.group_ends = <const int32_t *>self.at("group_ends")
        self.net.groups = len(group_ends) - 1
        self.net.tags = group_ends[self.net.groups]
        self.net.buckets, self.net.form, self.net.subword = options.buckets, options.form, options.subword
        self.net.state, self.net.tag, self.net.squeezed = options.state, options.tag, options.bottleneck
        self.net.slot, self.net.label, self.net.labels = options.slot, options.label, labels
        self.net.label_columns = len(prepared["label_bias"])
        self.system = make_system(options.oracle, False)
        self.net.root_label = root_label

    cdef const void *at(self, name) except NULL:
        cdef const uint8_t[::1] bytes_ = self.kept[name].reshape(-1).view(np.uint8)
        return &bytes_[0]

    cdef int set_matrix(self, name, int_matrix *matrix) except -1:
        shape = self.kept[name].shape           # [panels, k / 4, 16, 4]
        matrix.k, matrix.n = shape[1] * 4, shape[0] * 16
        matrix.weights = <const int8_t *>self.at(name)
        matrix.sums = <const int32_t *>self.at(f"{name}_sums")
        matrix.scales = <const float *>self.at(f"{name}_scale")
        return 0

    @property
    def kernel(self):
        return self.net.kernels.name.decode()


def combine(const int32_t[:, ::1] rows):
    """Equal rows get equal numbers, from 0 in the order of their first appearance; -> numbers, first rows."""
    cdef Py_ssize_t count = rows.shape[0], width = rows.shape[1], r, k, size = 64, found = 0
    cdef int32_t[::1] numbers = np.empty(count, np.int32)
    cdef int32_t[::1] firsts = np.empty(count, np.int32)
    cdef int32_t[::1] table = np.full(size, -1, np.int32)
    cdef uint64_t place
    for r in range(count):
        if 2 * found >= size:
            size *= 4
            table = np.full(size, -1, np.int32)
            for k in range(found):
                place = hash_bytes(<const uint8_t *>&rows[firsts[k], 0], width * 4) & (size - 1)
                while table[place] >= 0:
                    place = (place + 1) & (size - 1)
                table[place] = <int32_t>k
        place = hash_bytes(<const uint8_t *>&rows[r, 0], width * 4) & (size - 1)
        while table[place] >= 0 and memcmp(&rows[firsts[table[place]], 0], &rows[r, 0], width * 4) != 0:
            place = (place + 1) & (size - 1)
        if table[place] < 0:
            table[place] = <int32_t>found
            firsts[found] = <int32_t>r
            found += 1
        numbers[r] = table[place]
    return np.asarray(numbers), np.asarray(firsts)[:found]

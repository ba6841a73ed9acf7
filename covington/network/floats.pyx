"""The layers' arithmetic on numpy arrays of float32, by the kernels that were chosen for this processor.

Words of a batch stand in the order of time: the first words of all sentences, longest sentence first, then the second
words, and so on. `starts` says at which row each time begins, and the last one ends; a recurrent step is then one
multiplication of neighbouring rows.
"""

import os

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

import numpy as np

from covington.hashing cimport SEED, finish, mix

from covington.errors import OptionError

KERNEL_VARIABLE = "COVINGTON_KERNEL"
#: what a name of the variable stands for in training, where there are no integers
_FLOAT_KERNELS = {"vnni": "avx512", "neon": "plain"}


def draw_key(uint64_t seed, uint64_t first, uint64_t second=0, uint64_t third=0):
    """The key of a stream of random numbers, by up to four numbers that say what it is for."""
    return finish(mix(mix(mix(mix(SEED, seed), first), second), third))


def uniform(uint64_t key, Py_ssize_t count):
    """So many numbers from 0 up to 1, multiples of 2^-24; the n-th depends on the key and n alone."""
    cdef float[::1] values = np.empty(count, np.float32)
    cdef Py_ssize_t k
    with nogil:
        for k in range(count):
            values[k] = <float>(finish(mix(key, <uint64_t>k)) >> 40) * <float>(1.0 / 16777216.0)
    return np.asarray(values)


def shuffled(uint64_t key, Py_ssize_t count):
    """0..count-1 in random order."""
    cdef int64_t[::1] order = np.arange(count, dtype=np.int64)
    cdef Py_ssize_t k, other
    for k in range(count - 1, 0, -1):
        other = <Py_ssize_t>(finish(mix(key, <uint64_t>k)) % <uint64_t>(k + 1))
        order[k], order[other] = order[other], order[k]
    return np.asarray(order)


def drop(uint64_t key, const float[:, :] values, int64_t rate):
    """Values with `rate` of 65,536 of them set to 0 and the others grown to make up for it; -> new array.

    The same key drops the same places, so that the gradient goes through the same function.
    """
    cdef Py_ssize_t rows = values.shape[0], columns = values.shape[1], r, k, place = 0
    found = np.empty((rows, columns), np.float32)
    cdef float[:, ::1] out = found
    cdef float grown = <float>(65536.0 / (65536.0 - rate))
    cdef uint64_t bits = 0
    with nogil:
        for r in range(rows):
            for k in range(columns):
                if place & 3 == 0:
                    bits = finish(mix(key, <uint64_t>place))
                out[r, k] = values[r, k] * grown if <int64_t>(bits & 0xFFFF) >= rate else 0.0
                bits >>= 16
                place += 1
    return found


cdef class Floats:
    """Kernels and a workspace for one thread."""

    def __cinit__(self, name=None):
        name = name or os.environ.get(KERNEL_VARIABLE) or None
        encoded = _FLOAT_KERNELS.get(name, name).encode() if name else None
        self.kernels = choose_float_kernels(NULL if encoded is None else <const char *>encoded)
        if self.kernels == NULL:
            raise OptionError(f"this processor has no kernels {name!r} for training ({KERNEL_VARIABLE})")

    def __dealloc__(self):
        free(self.packed)

    @property
    def name(self):
        return self.kernels.name.decode()

    cdef int reserve(self, Py_ssize_t count) except -1:
        if count > self.capacity:
            free(self.packed)
            self.capacity = 0
            self.packed = <float *>malloc(count * sizeof(float))
            if self.packed == NULL:
                raise MemoryError("no memory for a packed matrix")
            self.capacity = count
        return 0

    cdef int pack(self, const float[:, :] b) except -1:
        cdef Py_ssize_t panel = self.kernels.columns
        self.reserve(b.shape[0] * ((b.shape[1] + panel - 1) // panel) * panel)
        if b.shape[0] and b.shape[1]:
            self.kernels.pack(&b[0, 0], b.strides[0] // 4, b.strides[1] // 4, b.shape[0], b.shape[1], self.packed)
        return 0

    def multiply(self, const float[:, :] a, const float[:, :] b, float[:, :] c, bint add=False):
        """c = a b, or c += a b; transposed views are welcome for a and b."""
        cdef Py_ssize_t m = a.shape[0], k = a.shape[1], n = b.shape[1]
        if b.shape[0] != k or c.shape[0] != m or c.shape[1] != n or (n > 1 and c.strides[1] != 4):
            raise ValueError(f"a matrix of {m} x {k}, one of {b.shape[0]} x {n} and one of {c.shape[0]} x {c.shape[1]} do not fit")
        if m == 0 or n == 0 or k == 0:
            if k == 0 and not add:
                np.asarray(c)[...] = 0
            return
        self.pack(b)
        with nogil:
            self.kernels.multiply(&a[0, 0], a.strides[0] // 4, a.strides[1] // 4, self.packed, &c[0, 0],
                                  c.strides[0] // 4, m, k, n, add)

    def lstm_forward(self, float[:, :] gates, const float[:, :] recurrent, const int64_t[::1] starts, bint reverse,
                     float[:, :] cell, float[:, :] state):
        """One direction of an LSTM; `gates` come in as sums over the input and go out as activations."""
        cdef int64_t width = recurrent.shape[0], times = starts.shape[0] - 1, step, t, before, words, known, row
        self.check_lstm(gates, recurrent, starts, cell, state)
        self.pack(recurrent)
        with nogil:
            for step in range(times):
                t = times - 1 - step if reverse else step
                before = t + 1 if reverse else t - 1
                words = starts[t + 1] - starts[t]
                known = 0
                if 0 <= before < times:
                    known = min(words, starts[before + 1] - starts[before])
                    self.kernels.multiply(&state[starts[before], 0], state.strides[0] // 4, 1, self.packed,
                                          &gates[starts[t], 0], gates.strides[0] // 4, known, width, 4 * width, True)
                for row in range(words):
                    self.kernels.cell_forward(
                        width, &gates[starts[t] + row, 0], &cell[starts[before] + row, 0] if row < known else NULL,
                        &cell[starts[t] + row, 0], &state[starts[t] + row, 0])

    def lstm_backward(self, const float[:, :] gates, const float[:, :] recurrent, const int64_t[::1] starts,
                      bint reverse, const float[:, :] cell, float[:, :] d_state, float[:, :] d_gates):
        """The gradient of the gates' sums; what comes back over time is added to `d_state`."""
        cdef int64_t width = recurrent.shape[0], times = starts.shape[0] - 1, step, t, before, words, known, row
        cdef float[:, ::1] d_cell = np.zeros((starts[1] if times else 0, width), np.float32)
        self.check_lstm(gates, recurrent, starts, cell, d_state)
        self.pack(np.asarray(recurrent).T)
        with nogil:
            for step in range(times):
                t = step if reverse else times - 1 - step
                before = t + 1 if reverse else t - 1
                words = starts[t + 1] - starts[t]
                known = min(words, starts[before + 1] - starts[before]) if 0 <= before < times else 0
                for row in range(words):
                    self.kernels.cell_backward(
                        width, &gates[starts[t] + row, 0], &cell[starts[before] + row, 0] if row < known else NULL,
                        &cell[starts[t] + row, 0], &d_state[starts[t] + row, 0], &d_cell[row, 0],
                        &d_gates[starts[t] + row, 0])
                    if row >= known:
                        memset(&d_cell[row, 0], 0, width * sizeof(float))
                if known:
                    self.kernels.multiply(&d_gates[starts[t], 0], d_gates.strides[0] // 4, 1, self.packed,
                                          &d_state[starts[before], 0], d_state.strides[0] // 4, known, 4 * width, width,
                                          True)

    cdef int check_lstm(self, const float[:, :] gates, const float[:, :] recurrent, const int64_t[::1] starts,
                        const float[:, :] cell, const float[:, :] state) except -1:
        cdef int64_t width = recurrent.shape[0], rows = starts[starts.shape[0] - 1]
        if (recurrent.shape[1] != 4 * width or gates.shape[1] != 4 * width or cell.shape[1] != width
                or state.shape[1] != width or gates.shape[0] != rows or cell.shape[0] != rows
                or state.shape[0] != rows or gates.strides[1] != 4 or cell.strides[1] != 4 or state.strides[1] != 4):
            raise ValueError("arrays of an LSTM do not fit")
        return 0

    def softmax(self, const float[:, ::1] scores, const int64_t[::1] groups, float[:, ::1] probabilities):
        """Softmax within each group of columns; groups are given by where they begin, and the last one ends."""
        cdef Py_ssize_t r, g
        with nogil:
            for r in range(scores.shape[0]):
                for g in range(groups.shape[0] - 1):
                    self.kernels.softmax(&scores[r, groups[g]], groups[g + 1] - groups[g], &probabilities[r, groups[g]])

    def softmax_backward(self, const float[:, ::1] probabilities, const int64_t[::1] groups, const int32_t[:, ::1] gold,
                         const float[::1] weights, float[:, ::1] d_scores, const float[:, ::1] d_soft=None):
        """The gradient of the scores: of the gold columns' negative logarithm (-1: none), and of what came through.

        Each group's part in the loss has its weight.
        """
        cdef Py_ssize_t r, g, k
        cdef float inner, weight
        with nogil:
            for r in range(probabilities.shape[0]):
                for g in range(groups.shape[0] - 1):
                    weight = weights[g] if gold[r, g] >= 0 else 0.0
                    for k in range(groups[g], groups[g + 1]):
                        d_scores[r, k] = probabilities[r, k] * weight
                    if gold[r, g] >= 0:
                        d_scores[r, groups[g] + gold[r, g]] -= weight
                    if d_soft is not None:
                        inner = 0.0
                        for k in range(groups[g], groups[g + 1]):
                            inner += d_soft[r, k] * probabilities[r, k]
                        for k in range(groups[g], groups[g + 1]):
                            d_scores[r, k] += probabilities[r, k] * (d_soft[r, k] - inner)

    def sum_of_rows(self, const float[:, ::1] table, const int64_t[::1] begins, const int32_t[::1] rows, float[:, :] out):
        """For each word the sum of its rows of a table."""
        cdef Py_ssize_t r, k, width = table.shape[1]
        with nogil:
            for r in range(out.shape[0]):
                memset(&out[r, 0], 0, width * sizeof(float))
                for k in range(begins[r], begins[r + 1]):
                    self.kernels.add_row(&out[r, 0], &table[rows[k], 0], width)

    def gather_gradients(self, const int64_t[::1] begins, const int32_t[::1] rows, const float[:, :] gradients,
                         int32_t[::1] marks):
        """The rows of a table that occur, each once, and the sum of the gradients of each.

        `marks` has a -1 for each row of the table, before and after.
        """
        cdef Py_ssize_t r, k, width = gradients.shape[1], count = 0
        cdef int32_t[::1] found = np.empty(rows.shape[0], np.int32)
        for k in range(rows.shape[0]):
            if marks[rows[k]] < 0:
                marks[rows[k]] = <int32_t>count
                found[count] = rows[k]
                count += 1
        sums = np.zeros((count, width), np.float32)
        cdef float[:, ::1] total = sums
        with nogil:
            for r in range(gradients.shape[0]):
                for k in range(begins[r], begins[r + 1]):
                    self.kernels.add_row(&total[marks[rows[k]], 0], &gradients[r, 0], width)
            for k in range(count):
                marks[found[k]] = -1
        return np.asarray(found)[:count], sums

    def add_rows(self, float[:, :] out, const int64_t[::1] rows, const float[:, :] values):
        """Add each row of values to a row of `out`, in their order."""
        cdef Py_ssize_t r
        with nogil:
            for r in range(values.shape[0]):
                self.kernels.add_row(&out[rows[r], 0], &values[r, 0], values.shape[1])

    def column_sums(self, const float[:, :] values):
        """The sum of each column, row by row."""
        sums = np.zeros(values.shape[1], np.float32)
        cdef float[::1] total = sums
        cdef Py_ssize_t r
        with nogil:
            for r in range(values.shape[0]):
                self.kernels.add_row(&total[0], &values[r, 0], values.shape[1])
        return sums

    def squares(self, values):
        """The sum of the squares of a contiguous array."""
        cdef const float[::1] flat = values.reshape(-1)
        return self.kernels.squares(&flat[0], flat.shape[0]) if flat.shape[0] else 0.0

    def add_scaled(self, to, values, float scale):
        """Add values, each times a number, to a contiguous array of the same size."""
        cdef float[::1] out = to.reshape(-1)
        cdef const float[::1] more = values.reshape(-1)
        if out.shape[0] != more.shape[0]:
            raise ValueError("arrays do not fit")
        if out.shape[0]:
            with nogil:
                self.kernels.add_scaled(&out[0], &more[0], scale, out.shape[0])

    def adam(self, values, mean, variance, gradient, float rate, float keep_mean, float keep_variance, float scale):
        """One step of Adam on a whole contiguous array."""
        cdef float[::1] to = values.reshape(-1), m = mean.reshape(-1), v = variance.reshape(-1)
        cdef const float[::1] g = gradient.reshape(-1)
        if not to.shape[0] == m.shape[0] == v.shape[0] == g.shape[0]:
            raise ValueError("arrays of the optimiser do not fit")
        if to.shape[0]:
            with nogil:
                self.kernels.adam(&to[0], &m[0], &v[0], &g[0], to.shape[0], rate, keep_mean, keep_variance, scale)

    def adam_rows(self, float[:, ::1] values, float[:, ::1] mean, float[:, ::1] variance, const int32_t[::1] rows,
                  const float[:, ::1] gradient, float rate, float keep_mean, float keep_variance, float scale):
        """One step of Adam on some rows of a table; the others stand still."""
        cdef Py_ssize_t k, width = values.shape[1]
        with nogil:
            for k in range(rows.shape[0]):
                self.kernels.adam(&values[rows[k], 0], &mean[rows[k], 0], &variance[rows[k], 0], &gradient[k, 0], width,
                                  rate, keep_mean, keep_variance, scale)

"""The twin of the network in integers: numpy, one word at a time; its numbers must be those of the compiled kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tests.network.twin import NAMES, slot_words, table_rows
from tests.reference import Transition, TransitionSystem, heads_in

Array = Any
F = np.float32
STATE_UNIT = F(1) / F(127)


def rounded(x: Array) -> Array:
    return np.rint(x.astype(F)).astype(np.int64)


def quantise(values: Array) -> tuple[Array, F]:
    largest = F(np.abs(values).max()) if len(values) else F(0)
    if not largest > F(1e-20):
        return np.zeros(len(values), np.int64), F(0)
    return rounded(np.clip(values * (F(127) / largest), F(-127), F(127))), largest / F(127)


def tanh(x: Array) -> Array:
    x = np.clip(x.astype(F), F(-3.6467), F(3.6467))
    square = x * x
    over = ((square + F(105)) * square + F(945)) * x
    return over / ((F(15) * square + F(420)) * square + F(945))


def exp(x: Array) -> Array:
    y = np.maximum(x.astype(F), F(-20)) * F(0.0078125)
    y = ((y * F(0.16666667) + F(0.5)) * y + F(1)) * y + F(1)
    for _ in range(7):
        y = y * y
    return y


def scaled(sums: Array, unit: F, scales: Array) -> Array:
    return sums.astype(F) * (unit * scales)


class IntegerTwin:
    """Takes the arrays of a model file, words as (form, subwords) and gives tags, heads, relations."""

    def __init__(
        self, arrays: Mapping[str, Array], ends: Sequence[int], root_label: int, monotonic: bool
    ) -> None:
        self.a = {
            name: values if values.dtype == F else values.astype(np.int64) for name, values in arrays.items()
        }
        self.ends, self.root_label = list(ends), root_label
        self.system = TransitionSystem(monotonic, "implicit")

    def gates(self, *parts: tuple[Array, F, Array], bias: Array) -> Array:
        """Sums in 1,024ths; parts are (sums, unit, scales)."""
        total = scaled(*parts[0][:2], parts[0][2] * F(1024))
        for sums, unit, scales in parts[1:]:
            total = total + scaled(sums, unit, scales * F(1024))
        return rounded(np.clip(total + bias * F(1024), F(-32767), F(32767)))

    def lstm(self, layer: str, inputs: Sequence[Array]) -> Array:
        states = []
        for number, way in enumerate(("forward", "backward")):
            weights, scales = self.a[f"{layer}_{way}"], self.a[f"{layer}_{way}_scale"]
            width = len(weights)
            part = slice(4 * width * number, 4 * width * (number + 1))
            state, cell, mine = None, np.zeros(width, F), []
            for x in inputs if way == "forward" else reversed(inputs):
                sums = x[part].astype(F)
                if state is not None:
                    sums = sums + (state @ weights).astype(F) * (scales * (F(1024) / F(127)))
                enter, keep, out, new = np.split(sums * F(1 / 1024), 4)
                enter, keep, out = (F(0.5) * tanh(F(0.5) * gate) + F(0.5) for gate in (enter, keep, out))
                cell = keep * cell + enter * tanh(new)
                state = rounded(np.clip(out * tanh(cell) * F(127), F(-127), F(127)))
                mine.append(state)
            states.append(mine if way == "forward" else mine[::-1])
        return [np.concatenate(pair) for pair in zip(*states, strict=True)]

    def run(
        self, words: Sequence[tuple[int, Sequence[int]]], given: Sequence[Sequence[int]] | None = None
    ) -> tuple[list[list[int]], list[int], list[int]]:
        a, inputs = self.a, []
        for form, parts in words:
            embedded = a["forms"][form].astype(F) * a["forms_scale"][form]
            summed = a["subwords"][list(parts)].sum(axis=0).astype(F) * a["subwords_scale"]
            x, unit = quantise(np.concatenate((embedded, summed)))
            inputs.append(
                self.gates((x @ a["first_input"], unit, a["first_input_scale"]), bias=a["first_bias"])
            )
        tags, second = [], []
        for place, state in enumerate(self.lstm("first", inputs)):
            scores = scaled(state @ a["tag_weights"], STATE_UNIT, a["tag_weights_scale"]) + a["tag_bias"]
            soft, mine = [], []
            for group, (begin, end) in enumerate(zip(self.ends, self.ends[1:], strict=False)):
                powers = rounded(exp(scores[begin:end] - scores[begin:end].max()) * F(1 << 20))
                soft.append(rounded(powers.astype(F) * (F(127) / F(powers.sum()))))
                mine.append(int(scores[begin:end].argmax()))
                if given is not None and given[place][group] >= 0:
                    mine[-1] = given[place][group]
                    soft[-1] = np.eye(end - begin, dtype=np.int64)[mine[-1]] * 127
            tags.append(mine)
            known, unit = quantise(
                scaled(np.concatenate(soft) @ a["tag_table"], STATE_UNIT, a["tag_table_scale"]) + F(0)
            )
            second.append(
                self.gates(
                    (state @ a["second_state"], STATE_UNIT, a["second_state_scale"]),
                    (known @ a["second_tag"], unit, a["second_tag_scale"]),
                    bias=a["second_bias"],
                )
            )
        projected = []
        for state in self.lstm("second", second):
            seen = scaled(state @ a["bottleneck"], STATE_UNIT, a["bottleneck_scale"]) + a["bottleneck_bias"]
            x, unit = quantise(np.maximum(seen, F(0)))
            values = scaled(x @ a["projections"], unit, a["projections_scale"] * F(256)) + F(0)
            projected.append(rounded(np.clip(values, F(-2047), F(2047))))
        return tags, *self.parse(projected)

    def label(self, rows: Sequence[Array], head: int, dependent: int) -> int:
        width = self.a["label_tables"].shape[1]
        slots = 9 * self.a["slot_tables"].shape[1]
        distance = max(-20, min(20, dependent - head)) + 20
        hidden = rows[head - 1][slots : slots + width] + rows[dependent - 1][slots + width :]
        hidden = np.clip(hidden + self.a["label_tables"][distance], 0, 8191)
        return int((hidden @ self.a["label_weights"] + self.a["label_bias"]).argmax())

    def parse(self, rows: Sequence[Array]) -> tuple[list[int], list[int]]:
        length, width = len(rows), self.a["slot_tables"].shape[1]
        c = self.system.initial(length)
        while not self.system.is_terminal(c):
            if not c.left_list:
                c = self.system.apply(c, Transition("Shift"))
                continue
            i, j = c.left_list[-1], c.buffer[0]
            hidden = np.zeros(width, np.int64)
            for slot, word in enumerate(slot_words(c, length)):
                hidden += (
                    rows[word - 1][slot * width : (slot + 1) * width] if word else self.a["slot_tables"][slot]
                )
            for row in table_rows(c, len(self.a["label_bias"])):
                hidden += self.a["slot_tables"][row]
            scores = self.a["action_weights"] @ np.clip(hidden, 0, 8191) + self.a["action_bias"]
            allowed = [NAMES.index(name) for name in self.system.permissible(c)]
            action = max(allowed, key=lambda number: (scores[number], -number))
            label = ""
            if action >= 2:
                label = str(self.label(rows, *((j, i) if action == 2 else (i, j))))
            c = self.system.apply(c, Transition(NAMES[action], label))
        heads = dict(heads_in(c.arcs))
        names = {arc.dependent: int(arc.label) for arc in c.arcs}
        roots = [word for word in range(1, length + 1) if word not in heads]
        for word in roots[1:]:
            heads[word] = roots[0]
            names[word] = self.label(rows, roots[0], word)
        every = range(1, length + 1)
        return [heads.get(word, 0) for word in every], [names.get(word, self.root_label) for word in every]

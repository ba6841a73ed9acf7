"""The model of a lemmatiser, checked before compiled code follows it."""

import numpy as np

from covington.characters.tables cimport tables

from covington.errors import ModelError

_TYPES = {
    "scripts": np.int32, "literals": np.uint8, "exception_keys": np.uint32, "exception_values": np.int32,
    "feature_keys": np.uint32, "feature_rows": np.int32, "row_starts": np.int32, "entry_scripts": np.uint16,
    "entry_weights": np.int16,
}
ARRAYS = tuple(_TYPES)
MAX_TEXT = 1000  # bytes of the texts of one script


def _require(condition, what):
    if not condition:
        raise ModelError(f"the lemmatiser of the model is damaged: {what}; fetch the model again or train it anew")


def _require_sound(arrays):
    """What compiled code will follow lies within the arrays."""
    for name, type_ in _TYPES.items():
        _require(name in arrays, f"there is no array {name!r}")
        array = arrays[name]
        _require(
            array.dtype == type_ and array.ndim == (2 if name == "scripts" else 1),
            f"array {name!r} has another type or shape",
        )
    scripts, literals = arrays["scripts"], arrays["literals"]
    _require(scripts.shape[1] == 6 and 1 <= len(scripts) <= MAX_SCRIPTS, "the scripts do not have their shape")
    _require((scripts[0] == 0).all(), "the first script is not the one that changes nothing")
    _require(((scripts[:, 0] >= AS_IT_STANDS) & (scripts[:, 0] <= WHOLE)).all(), "a script has no case")
    places = scripts[:, 1:].astype(np.int64)
    _require(
        ((places >= 0) & (places <= len(literals))).all() and (np.diff(places, axis=1) >= 0).all()
        and (places[:, -1] - places[:, 0] <= MAX_TEXT).all(),
        "a script copies from outside its texts",
    )
    text = literals.tobytes()
    for row in places.tolist():
        for start, end in zip(row, row[1:]):
            try:
                piece = text[start:end].decode("utf-8")
            except UnicodeDecodeError:
                piece = "\0"
            _require(not any(character in "\0\t\n\r" for character in piece), "a script writes what is no text")
    whole = scripts[:, 0] == WHOLE
    _require((places[whole, 4] > places[whole, 3]).all(), "a script gives no lemma")
    for name, values in (("exception", arrays["exception_values"]), ("feature", arrays["feature_rows"])):
        keys = arrays[f"{name}_keys"]
        size = len(keys)
        _require(2 <= size <= 1 << 28 and size & (size - 1) == 0, f"the size of the table of {name}s is no power of two")
        _require(len(values) == size and (keys == 0).any(), f"the table of {name}s has no empty place")
        limit = len(scripts) if name == "exception" else len(arrays["row_starts"]) - 1
        _require(((values >= 0) & (values < max(limit, 1))).all() and limit >= 0, f"the table of {name}s points outside")
    starts, entries = arrays["row_starts"], arrays["entry_scripts"]
    _require(len(starts) >= 2 and starts[0] == 0 and starts[-1] == len(entries), "the rows of weights do not fill their table")
    _require((starts[1:] >= starts[:-1]).all(), "the rows of weights are not in order")     # a difference might wrap
    _require(len(arrays["entry_weights"]) == len(entries), "there are not as many weights as scripts")
    _require((entries < len(scripts)).all(), "a weight belongs to no script")


cdef class Core:
    """Arrays that were checked, with pointers into them; threads may share it."""

    def __cinit__(self, dict metadata, dict arrays):
        cdef const int32_t[::1] scripts, exception_values, feature_rows, row_starts
        cdef const unsigned char[::1] literals
        cdef const uint32_t[::1] exception_keys, feature_keys
        cdef const uint16_t[::1] entry_scripts
        cdef const int16_t[::1] entry_weights
        _require_sound(arrays)
        self.arrays = {name: np.ascontiguousarray(arrays[name]) for name in ARRAYS}
        self.metadata = metadata
        scripts = self.arrays["scripts"].reshape(-1)
        exception_keys, exception_values = self.arrays["exception_keys"], self.arrays["exception_values"]
        feature_keys, feature_rows = self.arrays["feature_keys"], self.arrays["feature_rows"]
        row_starts, entry_scripts = self.arrays["row_starts"], self.arrays["entry_scripts"]
        entry_weights, literals = self.arrays["entry_weights"], self.arrays["literals"]
        self.model.tables = tables()
        self.model.scripts = <const Script*>&scripts[0]
        self.model.script_count = len(self.arrays["scripts"])
        self.model.exception_keys, self.model.exception_values = &exception_keys[0], &exception_values[0]
        self.model.exception_mask = len(exception_keys) - 1
        self.model.feature_keys, self.model.feature_rows = &feature_keys[0], &feature_rows[0]
        self.model.feature_mask = len(feature_keys) - 1
        self.model.row_starts = &row_starts[0]
        if len(entry_scripts):
            self.model.entry_scripts, self.model.entry_weights = &entry_scripts[0], &entry_weights[0]
        if len(literals):
            self.model.literals = &literals[0]

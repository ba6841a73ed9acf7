"""The model of a segmenter, checked before compiled code follows it."""

from libc.stdint cimport uint64_t

import numpy as np

from covington.characters.tables cimport tables

from covington.errors import ModelError

_TYPES = {
    "splits": np.int16, "joins": np.int16, "ends": np.int16, "words": np.int16,
    "form_keys": np.uint64, "form_values": np.int32, "affix_keys": np.uint64, "affix_values": np.int32,
    "script_starts": np.int32, "parts": np.int32, "literals": np.uint8,
}
ARRAYS = tuple(_TYPES)
MAX_WORDS = 64  # of one token


cdef Linear linear(object array):
    cdef Linear result
    cdef const int16_t[::1] view = array
    result.weights = &view[0]
    result.shift = 64 - (len(array) - 1).bit_length()
    return result


cdef Lookup lookup(object keys, object values):
    cdef Lookup result
    cdef const uint64_t[::1] key_view = keys
    cdef const int32_t[::1] value_view = values
    result.keys = &key_view[0]
    result.values = &value_view[0]
    result.mask = len(keys) - 1
    return result


def _require(condition, what):
    if not condition:
        raise ModelError(f"the segmenter of the model is damaged: {what}; fetch the model again or train it anew")


def _require_sound(arrays):
    """What compiled code will follow lies within the arrays."""
    for name, type_ in _TYPES.items():
        _require(name in arrays, f"there is no array {name!r}")
        array = arrays[name]
        _require(array.dtype == type_ and array.ndim == (2 if name == "parts" else 1), f"array {name!r} has another type or shape")
    for name in ("splits", "joins", "ends", "words", "form_keys", "affix_keys"):
        size = len(arrays[name])
        _require(2 <= size <= 1 << 24 and size & (size - 1) == 0, f"the size of {name!r} is no power of two")
    for name in ("form", "affix"):
        keys, values = arrays[f"{name}_keys"], arrays[f"{name}_values"]
        _require(len(keys) == len(values) and (keys == 0).any(), f"the table of {name}s has no empty place")
    starts, parts, literals = arrays["script_starts"], arrays["parts"], arrays["literals"]
    scripts = len(starts) - 1
    _require(scripts >= 0 and parts.shape[1] == 5, "the scripts do not have their shape")
    _require(starts[0] == 0 and starts[-1] == len(parts), "the scripts do not fill their table")
    lengths = np.diff(starts)
    _require(((lengths >= 1) & (lengths <= MAX_WORDS)).all(), "a script has no words, or too many")
    _require((np.abs(parts[:, :2].astype(np.int64)) <= TO_END).all(), "a script cuts where no token is")
    places = parts[:, 2:].astype(np.int64)
    _require(
        ((places >= 0) & (places <= len(literals))).all() and (np.diff(places, axis=1) >= 0).all(),
        "a script copies from outside its texts",
    )
    text = literals.tobytes()
    for row in places.tolist():
        for start, end in (row[:2], row[1:]):
            try:
                piece = text[start:end].decode("utf-8")
            except UnicodeDecodeError:
                piece = "\0"
            _require(not any(character in "\0\t\n\r" for character in piece), "a script writes what is no text")
    form_values, affix_values = arrays["form_values"], arrays["affix_values"]
    _require(((form_values >= -1) & (form_values < 2 * scripts)).all() or scripts == 0, "a form has no script")
    _require(((affix_values >= 0) & (affix_values < scripts)).all() or scripts == 0, "an affix has no script")


cdef class Core:
    """Arrays that were checked, with pointers into them; threads may share it."""

    def __cinit__(self, dict metadata, dict arrays):
        cdef const int32_t[::1] starts, parts
        cdef const unsigned char[::1] literals
        _require_sound(arrays)
        self.arrays = {name: np.ascontiguousarray(arrays[name]) for name in ARRAYS}
        self.metadata = metadata
        threshold = metadata.get("end_threshold")
        _require(type(threshold) is int and abs(threshold) < 1 << 30, "it has no threshold for sentence ends")
        self.model.tables = tables()
        self.model.splits = linear(self.arrays["splits"])
        self.model.joins = linear(self.arrays["joins"])
        self.model.ends = linear(self.arrays["ends"])
        self.model.words = linear(self.arrays["words"])
        self.model.end_threshold = threshold
        self.model.has_joins = bool(metadata.get("has_joins"))
        self.model.scripts = len(self.arrays["script_starts"]) - 1
        self.model.has_words = self.model.scripts > 0
        self.model.forms = lookup(self.arrays["form_keys"], self.arrays["form_values"])
        self.model.affixes = lookup(self.arrays["affix_keys"], self.arrays["affix_values"])
        if self.model.has_words:
            starts = self.arrays["script_starts"]
            parts = self.arrays["parts"].reshape(-1)
            self.model.script_starts = &starts[0]
            self.model.parts = <const Part*>&parts[0]
        if len(self.arrays["literals"]):
            literals = self.arrays["literals"]
            self.model.literals = &literals[0]

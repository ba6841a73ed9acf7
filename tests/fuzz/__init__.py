"""Fuzzers: damaged CoNLL-U, Parquet, text and model files must be refused or read, never crash or deceive."""

from tests.fuzz import conllu, conllu_stream, forged_model, forged_text_model, model_file, parquet, text

_ALL = (conllu, conllu_stream, parquet, model_file, forged_model, text, forged_text_model)
FUZZERS = {one.FUZZER.name: one.FUZZER for one in _ALL}

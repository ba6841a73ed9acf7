"""Fuzzers: damaged CoNLL-U, Parquet and model files must be refused or read, never crash or deceive."""

from tests.fuzz import conllu, conllu_stream, forged_model, model_file, parquet

FUZZERS = {one.FUZZER.name: one.FUZZER for one in (conllu, conllu_stream, parquet, model_file, forged_model)}

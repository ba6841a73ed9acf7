"""Fuzzers: damaged CoNLL-U, Parquet and model files must be refused or read, never crash or deceive."""

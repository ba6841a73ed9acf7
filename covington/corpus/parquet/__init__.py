"""Sentences in Parquet files: ours, and those that others have written."""

"""CoNLL-U and Parquet to Arrow batches and back, with what could not be read as rejects."""

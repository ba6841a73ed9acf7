"""CoNLL-U bytes to Arrow batches and back, in compiled code."""

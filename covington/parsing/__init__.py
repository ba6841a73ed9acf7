"""The parser: the greedy loop, and the class that puts a model to work on Arrow batches."""

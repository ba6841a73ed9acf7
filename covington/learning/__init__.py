"""Training: what the data holds, epochs over a shard, and the files that pass between epochs."""

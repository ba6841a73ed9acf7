"""Corpora cut into blocks, parsed, compared and trained on shard by shard, without Beam."""

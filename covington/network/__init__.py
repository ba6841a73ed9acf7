"""One small network that tags and parses from words alone: vocabulary, training in float32, inference in integers."""

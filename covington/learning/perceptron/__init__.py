"""The averaged perceptron: learning, weights, mixing of shards, and freezing into a model."""

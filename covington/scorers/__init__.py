"""Scores of transitions from a model that is no longer learning."""

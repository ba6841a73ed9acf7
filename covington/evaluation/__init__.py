"""Parses compared with gold trees: counts that add up, scores, significance."""

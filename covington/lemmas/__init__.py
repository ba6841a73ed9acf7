"""Lemmas from words and their tags, learnt from a treebank as edits at either end of the word."""

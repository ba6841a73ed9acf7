"""Text to sentences, tokens and words, learnt from a treebank."""

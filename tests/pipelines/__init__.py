"""Tests of the pipelines; the small model that they use is trained on the sample corpus in a second."""

"""Dependency trees for whole corpora: the fully non-monotonic Covington parser."""

__version__ = "0.1.0"

"""Parallel corpora: where they come from, how they are read and divided."""

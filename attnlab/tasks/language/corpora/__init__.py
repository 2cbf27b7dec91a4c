"""Corpora of `task=language` that no other kind reads."""

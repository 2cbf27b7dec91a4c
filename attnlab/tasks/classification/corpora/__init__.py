"""Corpora of labelled texts."""

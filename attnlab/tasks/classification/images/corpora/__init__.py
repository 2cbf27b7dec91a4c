"""Corpora of labelled images."""

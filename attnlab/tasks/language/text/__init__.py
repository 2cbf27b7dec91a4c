"""Tokens of texts: vocabularies, reading, masks."""

"""Masked words: a Transformer encoder that learns from texts without labels."""

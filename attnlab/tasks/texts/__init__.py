"""Texts without labels."""

"""The verbs of translation."""

"""Between sentences and tokens."""

"""A synchronous grammar of English and German: one structure, written out in both languages."""

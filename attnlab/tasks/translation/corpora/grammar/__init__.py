"""A synchronous grammar of English and German: each structure is written in both languages."""

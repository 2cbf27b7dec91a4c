"""Data of all kinds of task: corpora, files, downloads, division, tokens."""

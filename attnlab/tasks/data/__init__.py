"""Data that all kinds of tasks share: built-in corpora, files, downloads and their division."""

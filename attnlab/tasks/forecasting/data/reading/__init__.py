"""Cells of a table as numbers and times."""

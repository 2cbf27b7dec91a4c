"""Read cells of a table as numbers and times."""

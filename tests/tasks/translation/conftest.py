"""Puts this folder on the path, so that tests in its subfolders import its modules."""

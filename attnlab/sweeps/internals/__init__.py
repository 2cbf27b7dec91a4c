"""What sweeps use of other libraries that these do not offer: a module for each of them.

tests/sweeps/test_internals.py fails by name where another version does it differently.
"""

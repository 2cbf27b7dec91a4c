"""Make `labelled`, the module next to this file, importable by tests in the folders below."""

"""The Python API of `import attnlab`; a separate process does the work."""

"""Studies: named experiments that are compared with published numbers."""

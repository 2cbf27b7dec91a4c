"""Searches: what is tried next, what came of it, and where that is kept."""

"""Models that fill in words."""

"""Models that classify images."""

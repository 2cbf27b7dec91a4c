"""Groups of runs compared with each other."""

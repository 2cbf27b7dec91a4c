"""Groups of runs held against each other."""

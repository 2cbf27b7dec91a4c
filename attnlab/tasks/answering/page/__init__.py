"""What a page tells of runs that answer."""

"""What a page says of runs that fill in words."""

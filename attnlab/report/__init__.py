"""What a page tells of runs; `page` knows how it looks."""

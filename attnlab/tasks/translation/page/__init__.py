"""What translation tells of runs on a page."""

"""Records on a page: one HTML file that works offline."""

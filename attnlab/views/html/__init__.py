"""Records on a page: one file of HTML that needs no network."""

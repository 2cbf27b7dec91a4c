"""The content of a page about runs; `views` knows how it looks."""

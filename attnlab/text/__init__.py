"""Text and tokens: words, cleaning, vocabularies."""

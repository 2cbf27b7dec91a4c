"""Texts and tokens: words, cleaning, tokenizers, sentences, summaries."""

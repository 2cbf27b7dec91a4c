"""Translation: from corpora to attention maps."""

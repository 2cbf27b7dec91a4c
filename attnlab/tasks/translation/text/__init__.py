"""Turn a corpus of sentences into files of tokens."""

"""Question answering: find the words of a text that answer a question."""

"""A language model's text: its tokens, and the text of tokens."""

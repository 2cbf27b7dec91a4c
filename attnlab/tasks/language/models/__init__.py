"""Models of language: from tokens to logits of the next token at each place."""

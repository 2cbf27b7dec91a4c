"""Images into classes: the corpora, the Vision Transformer, and what is told of its runs."""

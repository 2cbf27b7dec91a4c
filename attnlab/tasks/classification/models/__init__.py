"""Models that classify texts: a mean of embeddings, recurrent networks, Transformer encoders."""

"""The figures of a translation run, of embeddings and of positions."""

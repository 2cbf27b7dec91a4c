"""What classifies texts: a mean of embeddings, recurrent networks, the Transformer encoder."""

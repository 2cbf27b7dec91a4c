"""What reads a question and a text: recurrent networks, the Transformer encoder."""

"""What translates: recurrent encoder-decoders and the Transformer."""

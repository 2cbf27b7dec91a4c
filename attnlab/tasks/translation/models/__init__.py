"""The translation models: recurrent encoder-decoders and the Transformer."""

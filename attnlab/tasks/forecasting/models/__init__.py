"""What forecasts: recurrent networks, with and without a decoder, and the Transformer encoder."""

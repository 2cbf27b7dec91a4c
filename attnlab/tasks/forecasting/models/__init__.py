"""What forecasts: recurrent networks and the Transformer encoder."""

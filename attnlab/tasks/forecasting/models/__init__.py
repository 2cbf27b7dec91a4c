"""Forecasting models: recurrent networks with and without a decoder, and a Transformer encoder."""

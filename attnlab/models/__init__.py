"""Encoders, forecasters and what they are made of."""

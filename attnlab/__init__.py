"""attnlab: see, train and fairly compare attention mechanisms."""

__version__ = "0.1.0"

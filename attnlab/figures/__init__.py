"""What the figures of every kind share."""

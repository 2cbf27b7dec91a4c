"""Classification: texts into classes."""

"""Exported models: one file per format, the check of their output, the example, the model card."""

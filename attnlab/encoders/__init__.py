"""Encoders of texts and images that were trained before: by a run of this project, or by others."""

"""Encoders of texts that were trained before: by a run of this project, or by somebody else."""

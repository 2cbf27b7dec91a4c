"""The figures in a run folder."""

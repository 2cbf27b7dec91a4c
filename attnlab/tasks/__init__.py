"""What there is to learn: data, splits, models and honest reports."""

"""Tasks: data, splits, models, and reports with baselines."""

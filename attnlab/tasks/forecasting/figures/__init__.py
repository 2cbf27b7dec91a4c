"""The figures of a forecasting run."""

"""What forecasting tells of runs on a page."""

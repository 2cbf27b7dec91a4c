"""What several kinds show of their runs."""

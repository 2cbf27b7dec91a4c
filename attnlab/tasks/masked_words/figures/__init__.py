"""What a run that fills in words draws."""

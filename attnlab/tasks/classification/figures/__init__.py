"""What a run that classifies draws."""

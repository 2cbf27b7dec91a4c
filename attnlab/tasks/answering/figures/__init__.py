"""What a run that answers draws."""

"""What every verb prints with."""

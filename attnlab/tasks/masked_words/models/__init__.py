"""What fills in words."""

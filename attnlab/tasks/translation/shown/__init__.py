"""What runs that translate show."""

"""What runs that answer show."""

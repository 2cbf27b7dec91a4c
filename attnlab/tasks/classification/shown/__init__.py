"""What runs that classify show."""

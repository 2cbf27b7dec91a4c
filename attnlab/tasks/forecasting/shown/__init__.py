"""What runs that forecast show."""

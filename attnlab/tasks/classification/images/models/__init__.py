"""What classifies images."""

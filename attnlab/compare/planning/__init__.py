"""How many seeds a comparison needs."""

"""How forecasts are written like the file that a series comes from."""

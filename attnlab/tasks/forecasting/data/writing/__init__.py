"""Write forecasts in the format of the file that a series comes from."""

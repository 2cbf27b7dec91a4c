"""Words of the command line about masked words."""

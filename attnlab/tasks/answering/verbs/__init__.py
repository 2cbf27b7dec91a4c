"""Words of the command line for questions and texts."""

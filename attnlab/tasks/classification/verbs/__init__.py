"""Words of the command line for texts and classes."""

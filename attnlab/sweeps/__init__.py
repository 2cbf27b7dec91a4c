"""Many runs by one command: grids and searches, resumed by the same command."""

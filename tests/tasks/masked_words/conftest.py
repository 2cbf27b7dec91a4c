"""Makes `fillers`, beside this file, known to the tests in the folders below."""

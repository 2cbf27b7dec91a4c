"""What models of several kinds are made of: recurrent cells, Transformer stacks, positions."""

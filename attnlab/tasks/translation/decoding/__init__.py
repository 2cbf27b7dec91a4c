"""Greedy and beam search."""

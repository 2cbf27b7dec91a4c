"""Answers: which words of a text answer a question."""

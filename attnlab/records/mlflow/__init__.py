"""Copies run folders to MLflow."""

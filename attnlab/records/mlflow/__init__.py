"""The copy of run folders in MLflow."""

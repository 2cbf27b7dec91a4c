"""The files of a run: its folder, its log, and its copy in MLflow."""

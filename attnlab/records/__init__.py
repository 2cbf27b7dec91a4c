"""What a run leaves behind: its folder, its log, and its copy in MLflow."""

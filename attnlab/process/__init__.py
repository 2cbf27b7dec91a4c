"""What every process of this project sets up: its variables, its Python, its output."""

"""What the runner drives: a model with its data, epoch by epoch; a module for each kind of task."""

"""The one place that draws: records of what to show, pictures in files, and pages."""

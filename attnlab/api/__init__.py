"""What `import attnlab` offers to Python, done in a process of its own."""

"""What is made of finished runs; reads run folders and nothing else."""

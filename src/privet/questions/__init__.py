"""The words that cross the curtain, and nothing else."""

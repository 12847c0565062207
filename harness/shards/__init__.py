"""Runs in parts: contexts divided among machines, and the parts merged into one run."""

"""A run in parts: contexts split among machines, and the parts merged into one run."""

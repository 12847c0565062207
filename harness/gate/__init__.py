"""The gate: a run's figures against limits, and more calls where a limit cannot be decided yet."""

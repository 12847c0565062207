"""The gate: a run's figures compared with limits, and more calls if a limit cannot be decided yet."""

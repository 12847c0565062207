"""Load tests: how many simultaneous callers an agent or this machine can serve (`steps`, and `agent` for a profile)."""

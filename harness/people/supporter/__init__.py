"""The supporter's seat: people answer the callers of a run that was played, and stand beside its agents."""

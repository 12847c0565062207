"""People in both seats: callers who are recorded, and supporters who answer aloud."""

"""People in both seats of a conversation: callers who record their turns, and supporters who answer aloud."""

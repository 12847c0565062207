<<<<<<< HEAD
"""People in both seats: callers who are recorded, and supporters who answer aloud."""
=======
"""People in both seats of a conversation: callers who record their turns, and supporters who answer aloud."""
>>>>>>> h35-run

"""Replies that are in a file, made a run: somebody else asked the agents, and people or judges compare what they said."""

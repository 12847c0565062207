"""Verdicts asked of judges: on the replies of a run or of a file, and the cost of asking."""

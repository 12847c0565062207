"""Verdicts on a run: from judges and from people's votes, and labels of strategies."""

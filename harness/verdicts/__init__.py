"""Verdicts of a run: judges asked, strategies labelled, people's votes taken in."""

"""Mutation testing of the code that makes the figures: faults drawn by a seed, and faults that a reader found untested."""

"""Figures of a run: those of its turns, pooled by agent and condition, with every circumstance that a reader must know."""

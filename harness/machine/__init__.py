"""Counters of this machine: who used its processors, its memory and its GPU while agents were timed."""

"""Counters of this machine: use of its processors, memory and GPU while agents were timed."""

"""Timing: a pure, versioned function from a recording to the figures of its turns.

`measure` gives the figures of the last caller turn, `measure_turns` those of every one. Definitions and methods are in
docs/measurement.md; the version of the method is in every `TurnTiming`.
"""

from harness.timing.measure import METHOD, measure, measure_turns

__all__ = ["METHOD", "measure", "measure_turns"]

"""Line conditions: effects on a caller's voice between the mouth and the agent, composable and seeded.

`parse_condition("telephone+babble10")` gives a `Condition` whose `apply` keeps length and time, so that the end of the
caller's speech, known from the dry signal, stays true for what is sent.
"""

from harness.audio.conditions.condition import CLEAN, Condition, ConditionError, parse_condition

__all__ = ["CLEAN", "Condition", "ConditionError", "parse_condition"]

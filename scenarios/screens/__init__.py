"""Rule screens: what must not be put before raters or agents, found by rules that a person can read and argue with.

Rules come first because they are the same tomorrow, cost nothing, and name the words they fired on; a model may look a
second time (`harness.scenarios.screens.second`). They lean towards catching too much: a lost item costs little, a missed one
harms.
"""

from harness.scenarios.screens.finding import Finding
from harness.scenarios.screens.rules import ALL, FOR_WRITTEN_PACKS, reasons, screen_context, screen_text

__all__ = ["ALL", "FOR_WRITTEN_PACKS", "Finding", "reasons", "screen_context", "screen_text"]

"""Rule screens: readable rules that find contents which must not be shown to raters or agents.

Rules come first because they are reproducible, cost nothing, and name the matched words; a model may screen a
second time (`harness.scenarios.screens.second`). They rather match too much: a lost item costs little, a missed one
harms.
"""

from harness.scenarios.screens.rules import (
    ALL,
    FOR_WRITTEN_PACKS,
    NOT_FOR_PEOPLE,
    Finding,
    fit_for_people,
    reasons,
    screen_context,
    screen_text,
)

__all__ = [
    "ALL", "FOR_WRITTEN_PACKS", "NOT_FOR_PEOPLE", "Finding", "fit_for_people", "reasons", "screen_context", "screen_text",
]  # fmt: skip

"""Check for callers whose turns give their end away by length: the endpointing of such a run must not be compared.

It is computed from the contexts as they were played, so that it covers a run of any pack, or of a part of one.
"""

from collections.abc import Iterator, Sequence

from harness.scenarios.context import Context
from harness.turn_taking.cues import length_gives_it_away, words_separation
from harness.wording import counted


def unfit_callers(contexts: Sequence[Context], modes: Sequence[str]) -> Iterator[str]:
    """A sentence or two for each way of playing whose turns give their end away by length."""
    for mode in dict.fromkeys(modes):
        if said := length_gives_it_away(words_separation(contexts, every_turn=mode == "replay")):
            turns = "all the callers' turns" if mode == "replay" else "the last turns"
            yield f"{said} Measured on {turns} of {counted(len(contexts), 'conversation')}."

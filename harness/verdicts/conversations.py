"""The real conversation of a replayed session: the caller's turns as written, the agent's replies as heard.

In replay an agent continues its own earlier replies, not those of the pack. Judged with the pack's history, a good answer to
the real conversation would seem a bad one. So each side is judged with the history that it had.
"""

from itertools import pairwise

from harness.scenarios.context import Context, Turn, spoken_indices
from harness.store.session import Session

NOTHING_HEARD = "…"
"""Text for a reply in which the transcriber found no words."""


def conversation_of(session: Session, context: Context) -> tuple[Turn, ...] | None:
    """The turns up to the last one spoken; None if the agent had the context's own history, or nothing was heard."""
    if session.key.mode != "replay" or session.heard_words is None:
        return None
    indices = spoken_indices(context, session.key.mode)
    ends_s = [timing.spoken_end_ms / 1000 for timing in session.turn_timings]
    turns = [*context.turns[: indices[0]], context.turns[indices[0]]]
    for (begin_s, end_s), index in zip(pairwise(ends_s), indices[1:], strict=False):
        said = " ".join(word for word, start_s, _ in session.heard_words if begin_s <= start_s < end_s)
        turns += [Turn(role="supporter", text=said or NOTHING_HEARD), context.turns[index]]
    return tuple(turns)

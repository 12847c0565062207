"""Our own figures of a turn under the names of the truth."""

from typing import Final

from harness.known.truth import Figure
from harness.timing.figures import TurnTiming
from harness.timing.utterances import REPLIES, TALK

YIELDS_MS: Final = 2_000.0


def figures_of(turn: TurnTiming) -> dict[Figure, float | None]:
    """Our value of each figure, None where we found none."""
    begin_ms = float("-inf") if turn.begin_ms is None else turn.begin_ms - turn.spoken_end_ms

    def first(*kinds: str) -> float | None:
        return min((u.start_ms for u in turn.utterances if u.kind in kinds and u.start_ms >= 0), default=None)

    cuts = [u.start_ms for u in turn.utterances if u.kind in TALK and begin_ms <= u.start_ms < 0]
    sounds = [ms for ms in (turn.first_sound_ms, *(u.start_ms for u in turn.utterances)) if ms is not None and ms >= 0]
    yields = turn.yield_ms is not None and turn.yield_ms <= YIELDS_MS
    return {
        "sound": min(sounds, default=None),
        "speech": first(*REPLIES),
        "answer": first("answer"),
        "yield": turn.yield_ms if yields else None,
        "cut": min(cuts, default=None),
    }

"""Our own figures of a turn under the names of the truth.

The harness counts some things otherwise (docs/measurement.md): to it a murmur is a backchannel and no reply, a breath leaves
the floor with the caller, and `yield_ms` is the time to an agent's silence also where the agent takes no notice of its caller.
Where the two differ is said here and nowhere else. Without the words of a reply a filler is not known, so the answer of such a
turn is the filler; and no figure of ours is the length of a gap.
"""

from typing import Final

from harness.known.truth import Figure
from harness.timing.figures import TurnTiming
from harness.timing.utterances import REPLIES, TALK

YIELDS_MS: Final = 2_000.0
"""An agent that talks on for longer has not yielded: an interruption is over by then, or has been repeated."""


def figures_of(turn: TurnTiming) -> dict[Figure, float | None]:
    """Our value of each figure of a turn, None where we found none. The yield is that of the turn that is interrupted."""
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

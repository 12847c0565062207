"""The caller's turns in a call of two sides, of which nobody has a script.

A turn is found as a listener would find it: it ends where the agent begins to speak, unless the caller speaks on at once, and
after a long silence. What the caller says while the agent speaks is an interruption, or, if as short as "mm-hm", no turn at
all. A caller who gave way to an agent that cut in cannot be distinguished from one who was done, so the number of cut pauses is
a lower bound. Pure: spans in, spans out, all in seconds of the call.
"""

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from harness.audio.recorded_turns import BACKCHANNEL_S, LONGEST_PAUSE_S, Span

WENT_ON_S: Final = 1.0
"""A caller who speaks again so soon after the agent's first sound was not done. A choice: nobody answers a sentence of which
they heard less than a second, and interruptions of a reply come later."""
OVERLAP_S: Final = 0.3
"""People begin this much before the other has ended without interrupting: the grace of a cut pause (`timing.overlap`). Of an
agent that broke off nobody knows when it would have ended: it has yielded, however soon."""


@dataclass(frozen=True, slots=True)
class CallerTurn:
    """One turn, or one interruption: its stretches of speech, with pauses of 200 ms and more between them."""

    kind: Literal["turn", "barge_in"]
    spans: tuple[Span, ...]


def caller_turns(caller: Sequence[Span], agent: Sequence[Span], broken_off: Collection[float] = ()) -> tuple[CallerTurn, ...]:
    """The caller's turns and interruptions, in order. `caller`, `agent`: the speech of each side, in order; `broken_off`: the
    ends at which the agent's is cut off."""
    found: list[CallerTurn] = []
    waiting = deque(caller)
    while waiting:
        span = waiting.popleft()
        last = found[-1] if found else None
        if last is not None and last.kind == "turn" and _goes_on(last.spans[-1], span, agent):
            found[-1] = CallerTurn("turn", (*last.spans, span))
            continue
        over = next((end for start, end in agent if start < span[0] < end), None)
        if over is None:
            found.append(CallerTurn("turn", (span,)))
        elif over - span[0] <= OVERLAP_S and span[1] > over and over not in broken_off:
            found.append(CallerTurn("turn", ((over, span[1]),)))
        elif span[1] - over > BACKCHANNEL_S:
            found.append(CallerTurn("barge_in", ((span[0], over),)))
            found.append(CallerTurn("turn", ((over, span[1]),)))
        elif span[1] - span[0] > BACKCHANNEL_S:
            found.append(CallerTurn("barge_in", (span,)))
    return tuple(found)


def _goes_on(before: Span, span: Span, agent: Sequence[Span]) -> bool:
    """True if a stretch of speech belongs to the turn whose last stretch was `before`."""
    sounding = [start for start, end in agent if start < span[0] and end > before[1]]
    if not sounding:
        return span[0] - before[1] <= LONGEST_PAUSE_S
    return span[0] - max(sounding[0], before[1]) <= WENT_ON_S

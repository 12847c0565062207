"""The agent's reports of one reply: source of its stages, times between its marks, and figures of its streaming.

They are the agent's word: an implausible number is not used.
"""

from typing import Final, TypedDict

from harness.agents import marks
from harness.timeline import NS_PER_MS
from harness.timing.chain import Reply, Stamps
from harness.timing.figures import StagesFrom
from harness.timing.marks_from_spans import TRACED
from harness.timing.marks_from_wire import REPORTED

MOST_REPORTED: Final = 1e9
"""Largest plausible rate, factor or length that an agent reports of one reply."""


class Source(TypedDict):
    """Where a reply's stages come from, as `TurnTiming` has it."""

    stages_from: StagesFrom | None
    stages_resolution_ms: float | None


def source(reply: Reply | None) -> Source:
    """The source of a reply's stages, and the uncertainty of their borders."""
    if reply is None or not reply.steps:
        return {"stages_from": None, "stages_resolution_ms": None}
    detail = next(iter(reply.steps.values())).mark.detail
    if detail.get("stamped") == REPORTED:
        return {"stages_from": "reported", "stages_resolution_ms": _number(detail.get("resolution_ms"))}
    return {"stages_from": "traces" if detail.get("stamped") == TRACED else "marks", "stages_resolution_ms": None}


def between(reply: Reply | None, start: str, end: str) -> float | None:
    """The time from one mark of a reply to another in ms; None where either is missing."""
    if reply is None or start not in reply.steps or end not in reply.steps:
        return None
    return (reply.steps[end].at_ns - reply.steps[start].at_ns) / NS_PER_MS


def streaming(stamps: Stamps, reply: Reply | None) -> dict[str, float]:
    """The agent's reports on its streaming: tokens, and the real-time factor over all pieces that it spoke."""
    if reply is None:
        return {}
    done = stamps.done(marks.LLM_DONE, reply.request)
    found = {k: number for k, v in (done.mark.detail if done else {}).items() if (number := _number(v)) is not None}
    pieces = [s.mark.detail for s in stamps.all if s.name == marks.TTS_DONE and s.request == reply.request]
    factors = [(_number(p.get("real_time_factor")), _number(p.get("audio_ms"))) for p in pieces]
    known = [(f, ms) for f, ms in factors if f is not None and ms is not None]
    audio_ms = sum(ms for _, ms in known)
    if audio_ms > 0:
        found["real_time_factor"] = sum(f * ms for f, ms in known) / audio_ms
    return found


def _number(said: object) -> float | None:
    """A quantity that an agent reports, if it is plausible; sums and products of it stay finite."""
    if isinstance(said, bool) or not isinstance(said, int | float) or not 0 <= said <= MOST_REPORTED:
        return None
    return float(said)

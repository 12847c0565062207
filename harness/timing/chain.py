"""The agent's marks as a chain of cause and effect: the request whose audio was heard, and the times of its steps.

An agent that speculates stamps every step several times, once for each try. `detail["request"]` ties the steps of a try
together; the try that counts is the one whose audio was being sent when the audible sample arrived. Steps of no request, and
those of an agent without request numbers, are found by walking back in time. What the agent reports of a reply is its word: an
implausible number is not used.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypedDict

from harness.agents import marks
from harness.agents.connection import Mark
from harness.timeline import NS_PER_MS
from harness.timing.figures import StagesFrom
from harness.timing.marks_from_wire import REPORTED, TRACED

OF_A_REQUEST: Final = (
    marks.LLM_CALLED,
    marks.LLM_REQUESTED,
    marks.LLM_FIRST_TOKEN,
    marks.FIRST_CLAUSE,
    marks.TTS_STARTED,
    marks.TTS_FIRST_AUDIO,
    marks.AUDIO_SENT,
)
"""In causal order: each is an effect of the one before."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """A mark on the caller's clock."""

    name: str
    at_ns: int
    request: object | None
    mark: Mark


class Stamps:
    """All marks of a session on the caller's clock, in time order."""

    def __init__(self, found: Iterable[Mark], offset_ns: int = 0) -> None:
        self.all: Sequence[Stamp] = sorted(
            (Stamp(mark.name, mark.at_ns + offset_ns, mark.detail.get("request"), mark) for mark in found),
            key=lambda stamp: stamp.at_ns,
        )

    def last(self, name: str, until_ns: int, without: Collection[int] = ()) -> Stamp | None:
        """The latest stamp of a name, not later than a time; `without` contains the `id` of stamps that do not count."""
        return next((s for s in reversed(self.all) if s.name == name and s.at_ns <= until_ns and id(s) not in without), None)

    def first_of(self, name: str, request: object, until_ns: int) -> Stamp | None:
        """The first stamp of a name for a request, not later than a time."""
        return next((s for s in self.all if s.name == name and s.request == request and s.at_ns <= until_ns), None)

    def finished(self, start: Stamp, name: str) -> Stamp | None:
        """The first stamp of a name after `start`, of the same request; None if the work began again before that."""
        later = (s for s in self.all if s.at_ns >= start.at_ns and s is not start and s.request == start.request)
        found = next((s for s in later if s.name in (start.name, name)), None)
        return found if found is not None and found.name == name else None

    def done(self, name: str, request: object | None) -> Stamp | None:
        """The last stamp of a name for a request (the last of all, when requests are not numbered)."""
        return next((s for s in reversed(self.all) if s.name == name and (request is None or s.request == request)), None)


@dataclass(frozen=True, slots=True)
class Reply:
    """The steps of the request whose audio was heard. `refused` names effects stamped before their cause."""

    request: object | None
    steps: dict[str, Stamp]
    refused: tuple[str, ...]


def heard_reply(stamps: Stamps, audible_arrival_ns: int, turn_began_ns: int) -> Reply | None:
    """The request behind the audio that arrived at a time; None when no step of it was stamped.

    No work for a turn can be before the caller began it: such a step would be longer than the turn, and is refused.
    """
    request = _heard_request(stamps, audible_arrival_ns)
    steps: dict[str, Stamp] = {}
    until_ns = audible_arrival_ns
    for name in reversed(OF_A_REQUEST):
        if request is None:
            # Without numbers a step can only be recognised by its time before its effect.
            stamp = stamps.last(name, until_ns)
            until_ns = stamp.at_ns if stamp else until_ns
        else:
            stamp = stamps.first_of(name, request, audible_arrival_ns)
        if stamp is not None:
            steps[name] = stamp
    if not steps:
        return None
    return Reply(request, *_without_impossible(steps, turn_began_ns))


def _heard_request(stamps: Stamps, until_ns: int) -> object | None:
    for name in (marks.AUDIO_SENT, marks.TTS_FIRST_AUDIO, marks.LLM_FIRST_TOKEN):
        stamp = stamps.last(name, until_ns)
        if stamp is not None and stamp.request is not None:
            return stamp.request
    return None


def _without_impossible(steps: dict[str, Stamp], turn_began_ns: int) -> tuple[dict[str, Stamp], tuple[str, ...]]:
    """The steps in order, without effects that were stamped before their cause; and the reasons for refusing those."""
    kept: dict[str, Stamp] = {}
    refused: list[str] = []
    latest: Stamp | None = None
    for name in OF_A_REQUEST:
        stamp = steps.get(name)
        if stamp is None:
            continue
        if stamp.at_ns < turn_began_ns:
            refused.append(f"{name} stamped before the turn began: longer than the turn")
            continue
        if latest is not None and stamp.at_ns < latest.at_ns:
            refused.append(f"{name} stamped before {latest.name}")
            continue
        kept[name] = latest = stamp
    return kept, tuple(refused)


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

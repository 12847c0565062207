"""Kept answers of the supporter's seat as takes that are measured by an agent's code.

The loop's latency is taken out of the microphone, so that both sides are on one clock. Without a loop-back trial that was
heard it is not known, and none is assumed: the wait is then longer than it was, by the latency of the page's sound, and its
session says so.
"""

from collections.abc import Iterator

from harness.people.loop_back import LoopBack
from harness.people.records import SeatStore, Take
from harness.people.supporter.conversations import Conversations
from harness.people.supporter.into_run import PersonsReply
from harness.people.track import RATE_HZ, Track, track_of
from harness.people.trials import loop_of
from harness.recording.from_seat import CallerSound, SeatTake, seat_take
from harness.recording.sitting import LoopError, Sitting


def played_at(take: Take) -> int | None:
    """The frame at which the caller began; None if the page's record of it never came."""
    return next((p["at"] for p in take.ended.get("played", ()) if p["name"] == "caller"), None)


def aligned(take: Take, track: Track, caller: CallerSound, loop: LoopBack | None) -> SeatTake | None:
    """The take with its latency removed; None if nobody knows when the caller began."""
    at = played_at(take)
    if at is None:
        return None
    latency = 0.0 if loop is None else loop.latency_samples
    return seat_take(caller, track.samples, first=track.first, played_at=at, latency_samples=latency, lost=track.lost)


def kept_replies(records: SeatStore, conversations: Conversations) -> Iterator[PersonsReply]:
    """Every kept answer whose place on the clock is known, with its take and the facts of its sitting."""
    automatic = {person.id: person.automatic for person in records.people()}
    for take in _kept(records):
        if _why_left_out(records, conversations, take):
            continue
        loop = loop_of(records, take)
        track = track_of(records.parts(take), [(int(f), float(ms)) for f, ms in take.ended.get("clock", ())])
        found = aligned(take, track, conversations.caller(take.what), loop)
        assert found is not None
        facts = Sitting(
            person=take.person,
            automatic=automatic[take.person],
            sitting=f"{take.person}-{take.tab[:8]}",
            take=take.id,
            loop=None if loop is None else _loop_error(loop),
            findings=tuple(fault["words"] for fault in take.found.get("faults", ())),
        )
        yield PersonsReply(take.what, found, facts)


def left_out(records: SeatStore, conversations: Conversations) -> list[str]:
    """A sentence for each kept answer that no run can take, with the reason."""
    reasons = ((take, _why_left_out(records, conversations, take)) for take in _kept(records))
    return [f"An answer of {take.person} is left out: {why}." for take, why in reasons if why]


def _kept(records: SeatStore) -> list[Take]:
    return [take for take in records.takes() if take.kind == "reply" and take.state == "kept"]


def _why_left_out(records: SeatStore, conversations: Conversations, take: Take) -> str:
    """The reason why a run cannot take an answer; empty if it can."""
    if take.what not in conversations.contexts:
        return "the run has no such conversation any more"
    if played_at(take) is None:
        return "its page never said when the caller began"
    try:
        track_of(records.parts(take))
    except ValueError as fault:
        return f"its sound is not there ({fault})"
    return ""


def _loop_error(loop: LoopBack) -> LoopError:
    return LoopError(loop.latency_samples / RATE_HZ * 1_000, loop.error_p95_ms, loop.drift_ppm, loop.heard)

"""Waterfall: the time from the end of the caller's turn to the first audible sample, along the critical path.

The path is walked *back* from the audible sample, because only there it is known which of the agent's tries was heard: audible
← sent ← synthesised (or the decision that released waiting audio) ← first clause ← first token ← request ← call of the model's
client ← end-of-turn score, transcript or decision ← silence ← spoken end. Where two things had to be true before a third could
happen, the later one is on the path and the other is *hidden work*, drawn beside and never summed.

Hand-overs between stages, and time that no mark covers, are *unexplained*. The stages sum to TTFA exactly, because both its
ends come from the audio. The network's share, which is at both ends, is one bar after `transport`. Silence that the
synthesiser puts in front of the first word belongs to `tts`: the listener waits for it.
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from harness.agents import marks
from harness.timeline import NS_PER_MS
from harness.timing.chain import Reply, Stamp, Stamps, between, heard_reply
from harness.timing.figures import HiddenWork, Stage, StageName, Waterfall
from harness.timing.rtp_line import NetworkShare

HAND_OVER_MS: Final = 30.0
"""A decision this soon after a transcript or a score was waiting for it; a later one was waiting for the clock, and the
work was hidden behind that wait. In-process hand-overs take 1–5 ms on a busy machine. Only for agents that do not report it."""
HIDDEN_BEFORE_MS: Final = 1_000.0
"""Speculation on the caller's last pause starts this long before the end; earlier work says nothing about this turn."""

_Step = tuple[StageName, int, int]
_WAYS: Final[tuple[tuple[StageName, str], ...]] = (("endpointing", "there_ns"), ("transport", "back_ns"))


@dataclass(frozen=True, slots=True)
class Audible:
    """The audible end of the path, all from the recording: first message of the reply, leading silence, onset."""

    spoken_end_ns: int
    onset_ns: int
    first_arrival_ns: int
    """Arrival of the first message of the reply's audio."""
    lead_ns: int
    """Sound or silence of the reply that plays before the onset."""


def build(
    audible: Audible,
    reply: Reply | None,
    stamps: Stamps,
    clock_uncertainty_ms: float = 0.0,
    network: NetworkShare | None = None,
) -> Waterfall:
    """The waterfall of one reply that began after the spoken end."""
    steps = list(_path(audible, reply, stamps)) if reply else []
    totals: dict[StageName, int] = {}
    for name, start_ns, end_ns in steps:
        start, end = max(start_ns, audible.spoken_end_ns), max(end_ns, audible.spoken_end_ns)
        totals[name] = totals.get(name, 0) + end - start
    rest = audible.onset_ns - audible.spoken_end_ns - sum(totals.values())
    rest += totals.pop("unexplained", 0)
    if network is not None:
        totals, rest = _with_network(totals, rest, network)
    ordered: list[tuple[StageName, int]] = [*reversed(totals.items()), ("unexplained", rest)]
    stages: list[Stage] = []
    at_ms = 0.0
    for stage_name, duration_ns in ordered:
        stages.append(Stage(stage_name, at_ms, duration_ns / NS_PER_MS))
        at_ms += duration_ns / NS_PER_MS
    on_path = {(start, end) for _, start, end in steps}
    refused = reply.refused if reply else ()
    unsure_ms = network.uncertainty_ns / NS_PER_MS if network else None
    return Waterfall(tuple(stages), tuple(_hidden(audible, stamps, on_path)), refused, clock_uncertainty_ms, unsure_ms)


def _with_network(totals: dict[StageName, int], rest: int, network: NetworkShare) -> tuple[dict[StageName, int], int]:
    """The stages without the network's share, which is part of two: the way there is in the endpointing, the way back in
    transport.

    The part that the agent's marks do not cover is in the unexplained; no stage becomes negative by it.
    """
    left = dict(totals)
    taken = 0
    for stage, share_ns in _WAYS:
        wanted = getattr(network, share_ns)
        inside = min(wanted, max(0, left.get(stage, 0)))
        outside = min(wanted - inside, max(0, rest))
        if inside:
            left[stage] -= inside
        rest -= outside
        taken += inside + outside
    return {"network": taken, **left}, rest


def _path(audible: Audible, reply: Reply, stamps: Stamps) -> Iterator[_Step]:
    """Steps from the onset back to the spoken end, each (stage, start, end) in ns."""
    begun_ns = audible.onset_ns - audible.lead_ns
    if audible.lead_ns:
        yield "tts", begun_ns, audible.onset_ns
    sent = reply.steps.get(marks.AUDIO_SENT)
    made = reply.steps.get(marks.TTS_FIRST_AUDIO)
    until_ns = begun_ns
    decided = stamps.last(marks.TURN_DECIDED, sent.at_ns if sent else begun_ns)
    released = decided if decided and made and decided.at_ns > made.at_ns else None
    cause = released or made
    if sent is not None:
        yield "transport", sent.at_ns, until_ns
        until_ns = sent.at_ns
        if cause is not None:
            yield "transport", cause.at_ns, until_ns
            until_ns = cause.at_ns
    elif cause is not None:
        yield "unexplained", cause.at_ns, until_ns
        until_ns = cause.at_ns
    if released is not None:
        yield from _back_from(_Cause("decision", released), stamps)
        return
    yield from _reply_steps(reply, until_ns)
    requested = reply.steps.get(marks.LLM_CALLED) or reply.steps.get(marks.LLM_REQUESTED)
    if requested is not None:
        yield from _back_from(_Cause("request", requested), stamps)


def _reply_steps(reply: Reply, until_ns: int) -> Iterator[_Step]:
    """Steps from the first synthesised audio back to the request."""
    stages: tuple[tuple[str, StageName], ...] = (
        (marks.TTS_STARTED, "tts"),
        (marks.FIRST_CLAUSE, "unexplained"),
        (marks.LLM_FIRST_TOKEN, "first_clause"),
        (marks.LLM_REQUESTED, "llm"),
        (marks.LLM_CALLED, "llm"),
    )
    whole = marks.TTS_FIRST_AUDIO in reply.steps or marks.AUDIO_SENT in reply.steps
    for name, stage in stages:
        stamp = reply.steps.get(name)
        if stamp is None:
            whole = False
            continue
        # A step is only explained when both of its ends were stamped.
        yield (stage if whole else "unexplained"), stamp.at_ns, until_ns
        until_ns, whole = stamp.at_ns, True


@dataclass(frozen=True, slots=True)
class _Cause:
    """A stamp on the path, and the step of the turn as which it is followed back."""

    step: Literal["request", "decision", "knowing"]
    stamp: Stamp


_Walk = Generator[_Step, None, _Cause | None]
"""The steps before a cause, and the cause before those; None where the spoken end is reached, or nothing is known."""


def _back_from(cause: _Cause | None, stamps: Stamps) -> Iterator[_Step]:
    """Steps from the cause of the reply back to the spoken end.

    On a coarse clock neither of two stamps is the earlier, and each would be the other's cause; so none is followed twice.
    """
    walked = _Walked(stamps)
    walk = {"request": _before_request, "decision": _decision, "knowing": _knowing}
    while cause is not None:
        walked.add(cause.stamp)
        cause = yield from walk[cause.step](cause.stamp, walked)


class _Walked:
    """The stamps of a session without those that the path has used."""

    def __init__(self, stamps: Stamps) -> None:
        self._stamps = stamps
        self._through: set[int] = set()

    def add(self, stamp: Stamp) -> None:
        self._through.add(id(stamp))

    def last(self, name: str, until_ns: int) -> Stamp | None:
        return self._stamps.last(name, until_ns, self._through)

    def first_of(self, name: str, request: object, until_ns: int) -> Stamp | None:
        return self._stamps.first_of(name, request, until_ns)


def _before_request(requested: Stamp, stamps: _Walked) -> _Walk:
    """The steps before a request: it waits for an earlier draft, or for the last of decision, score and transcript."""
    until_ns = requested.at_ns
    decided = stamps.last(marks.TURN_DECIDED, until_ns)
    known = _known(stamps, until_ns)
    latest = max((s for s in (decided, known) if s is not None), key=lambda s: s.at_ns, default=None)
    draft = stamps.last(marks.LLM_DONE, until_ns)
    begun = stamps.first_of(marks.LLM_REQUESTED, draft.request, draft.at_ns) if draft else None
    # A draft that began no earlier than its own request is the same request, done at once, or took no time.
    drafted = begun is not None and begun.at_ns < until_ns and (latest is None or begun.at_ns >= latest.at_ns)
    if draft is not None and begun is not None and drafted:
        yield "unexplained", draft.at_ns, until_ns
        yield "llm", begun.at_ns, draft.at_ns
        return _Cause("request", begun)
    if latest is None:
        return None
    yield "unexplained", latest.at_ns, until_ns
    return _Cause("decision" if latest is decided else "knowing", latest)


def _decision(decided: Stamp, stamps: _Walked) -> _Walk:
    """The steps before a decision: it waited for words or a score that had just come, or for silence to last long enough."""
    known = _known(stamps, decided.at_ns)
    silence = stamps.last(marks.SILENCE_SEEN, decided.at_ns)
    reached = stamps.last(marks.ENDPOINT_REACHED, decided.at_ns)
    told_by = reached if reached and (silence is None or reached.at_ns >= silence.at_ns) else decided
    said = told_by.mark.detail.get("cause")
    waited = said in (marks.ASR_DONE, marks.TURN_SCORED)
    if known is not None and (waited or (said is None and _handed_over(known, decided))):
        yield "turn_decision", known.at_ns, decided.at_ns
        return _Cause("knowing", known)
    if silence is not None:
        yield "turn_decision", silence.at_ns, decided.at_ns
        yield _endpoint(silence.at_ns)
    else:
        yield _endpoint(decided.at_ns)
    return None


def _known(stamps: _Walked, until_ns: int) -> Stamp | None:
    """The last information on the caller's words: the transcript, or the score that was made of it."""
    found = (stamps.last(name, until_ns) for name in (marks.ASR_DONE, marks.TURN_SCORED))
    return max((s for s in found if s is not None), key=lambda s: s.at_ns, default=None)


def _handed_over(cause: Stamp, effect: Stamp) -> bool:
    return effect.at_ns - cause.at_ns <= HAND_OVER_MS * NS_PER_MS


def _knowing(known: Stamp, stamps: _Walked) -> _Walk:
    """The steps before a score, which waited for its transcript, or before a transcript, which waited for its transcription."""
    heard = known if known.name == marks.ASR_DONE else stamps.last(marks.ASR_DONE, known.at_ns)
    if heard is None:
        yield _endpoint(known.at_ns)
        return None
    if heard is not known:
        yield "turn_score", heard.at_ns, known.at_ns
        stamps.add(heard)
    return (yield from _transcription(heard, stamps))


def _transcription(heard: Stamp, stamps: _Walked) -> _Walk:
    begun = stamps.last(marks.ASR_STARTED, heard.at_ns)
    if begun is None:
        yield _endpoint(heard.at_ns)
        return None
    yield "asr", begun.at_ns, heard.at_ns
    decided = stamps.last(marks.TURN_DECIDED, begun.at_ns)
    silence = stamps.last(marks.SILENCE_SEEN, begun.at_ns)
    earlier = stamps.last(marks.ASR_DONE, begun.at_ns)
    if decided is not None and (silence is None or decided.at_ns > silence.at_ns):
        yield "unexplained", decided.at_ns, begun.at_ns
        return _Cause("decision", decided)
    if (busy := busy_since(begun, silence, earlier)) is not None:
        yield "asr", busy.at_ns, begun.at_ns
        yield _endpoint(busy.at_ns)
    else:
        yield _endpoint(begun.at_ns)
    return None


def busy_since(begun: Stamp, silence: Stamp | None, earlier: Stamp | None) -> Stamp | None:
    """The caller's silence, if the words before it kept the recogniser busy from then until a transcription began; else None.

    `earlier`: the end of the transcription before. A recogniser that was idle in between waited for the silence to last, which
    is endpointing.
    """
    if silence is None or earlier is None or earlier.at_ns <= silence.at_ns:
        return None
    return silence if _handed_over(earlier, begun) else None


def _endpoint(until_ns: int) -> _Step:
    """The step back to the spoken end (the caller of the path cuts it off there)."""
    return "endpointing", 0, until_ns


def _hidden(audible: Audible, stamps: Stamps, on_path: set[tuple[int, int]]) -> Iterator[HiddenWork]:
    """Transcriptions, scores, requests and syntheses near this turn that were finished and not on the path."""
    pairs = (
        ("asr", marks.ASR_STARTED, marks.ASR_DONE),
        ("turn_score", marks.ASR_DONE, marks.TURN_SCORED),
        ("llm", marks.LLM_REQUESTED, marks.LLM_FIRST_TOKEN),
        ("tts", marks.TTS_STARTED, marks.TTS_FIRST_AUDIO),
    )
    earliest_ns = audible.spoken_end_ns - HIDDEN_BEFORE_MS * NS_PER_MS
    for stage, begin, end in pairs:
        for start in (s for s in stamps.all if s.name == begin and earliest_ns <= s.at_ns <= audible.onset_ns):
            done = stamps.finished(start, end)
            if done is None or (start.at_ns, done.at_ns) in on_path:
                continue
            name = stage if start.request is None else f"{stage} {start.request}"
            start_ms = (start.at_ns - audible.spoken_end_ns) / NS_PER_MS
            yield HiddenWork(name, start_ms, (done.at_ns - start.at_ns) / NS_PER_MS)


def own_times(stamps: Stamps, onset_ns: int, turn_began_ns: int) -> dict[str, float]:
    """Stage (`asr`, `llm`, `tts`) → the time in ms that it took for the reply heard at `onset_ns`, wherever its work lay: work
    behind a wait is beside the path, so a stage that becomes slower need not show there. Without a stage that stamped nothing.
    """
    reply = heard_reply(stamps, onset_ns, turn_began_ns)
    asked = reply and (reply.steps.get(marks.LLM_CALLED) or reply.steps.get(marks.LLM_REQUESTED))
    words = stamps.last(marks.ASR_DONE, asked.at_ns) if asked else None
    begun = stamps.last(marks.ASR_STARTED, words.at_ns) if words is not None else None
    asr_ms = None
    if words is not None and begun is not None:
        silence, earlier = (stamps.last(name, begun.at_ns) for name in (marks.SILENCE_SEEN, marks.ASR_DONE))
        begun = busy_since(begun, silence, earlier) or begun
        asr_ms = (words.at_ns - begun.at_ns) / NS_PER_MS if begun.at_ns >= turn_began_ns else None
    found = {
        "asr": asr_ms,
        "llm": between(reply, marks.LLM_REQUESTED, marks.LLM_FIRST_TOKEN),
        "tts": between(reply, marks.TTS_STARTED, marks.TTS_FIRST_AUDIO),
    }
    return {stage: ms for stage, ms in found.items() if ms is not None}

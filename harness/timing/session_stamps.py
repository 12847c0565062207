"""All stamps and reports of an agent in a session; for one that stamps none, from its spans (OpenTelemetry), else its wire's
reports.

Spans are stamped where things happen, by the agent's own clock, so they are preferred for the model and the voice; marks that
they lack are taken from the wire. Spans are joined to the turn by clock and order alone: a request's voice is the first that
began after it and before the next request. Spans known to be wrong are not used: the durations of pipecat's STT and TTS spans,
and voices of LiveKit Agents. Where several families are in one trace, the framework's own counts (`harness.recording.spans`).
Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from harness.agents import marks
from harness.agents.connection import Mark
from harness.recording.record import Arrival, Recording
from harness.recording.spans import OPERATION, PREFIX, TTFT_ATTRIBUTES
from harness.timeline import NS_PER_MS, NS_PER_S
from harness.timing.chain import Stamps
from harness.timing.clock_offset import KNOWN, ClockOffset, believed, estimate
from harness.timing.marks_from_wire import BURST_GAP_MS, TRACED, bursts_of, reported_marks
from harness.timing.rtp_line import line_refused


@dataclass(frozen=True, slots=True)
class TracedRequest:
    """One request to the model, and the voice that spoke its answer. All times ns of the monotonic clock."""

    asked: int
    first_token: int | None
    voice_started: int | None = None
    first_audio: int | None = None

    def marks(self, number: int) -> list[Mark]:
        """The marks of one request."""
        detail = {"stamped": TRACED, "request": number}
        steps = (
            (marks.LLM_REQUESTED, self.asked),
            (marks.LLM_FIRST_TOKEN, self.first_token),
            (marks.FIRST_CLAUSE, self.voice_started),
            (marks.TTS_STARTED, self.voice_started),
            (marks.TTS_FIRST_AUDIO, self.first_audio),
        )
        return [Mark(name, at, at, detail) for name, at in steps if at is not None]


@dataclass(frozen=True, slots=True)
class SessionStamps:
    """The stamps of one session."""

    stamps: Stamps
    clock: ClockOffset
    refused: tuple[str, ...]
    """Names of marks and reports of the line that cannot be true."""


def stamps_in(recording: Recording) -> SessionStamps:
    """The agent's own marks, or marks made of its reports and spans where it stamps none."""
    clock = estimate(recording.marks, recording.caller)
    said = believed(recording.marks, recording.caller, clock)
    told = chosen_marks(said.marks, recording.arrivals)
    # Those are on the caller's clock already.
    on_one_clock = (*said.marks, *(replace(m, at_ns=m.at_ns - clock.offset_ns) for m in told))
    return SessionStamps(Stamps(on_one_clock, clock.offset_ns), clock, (*said.refused, *line_refused(recording)))


def chosen_marks(found: Sequence[Mark], arrivals: Sequence[Arrival]) -> tuple[Mark, ...]:
    """Marks made of spans and reports; none where the agent stamps its own, or reports nothing."""
    if any(mark.name in KNOWN for mark in found):
        return ()
    reported = reported_marks(found, arrivals)
    requests = traced_requests(found)
    if not requests:
        return reported
    bursts = bursts_of(arrivals)
    whole = [_heard_in_time(_with_voice(requests, k, reported), bursts) for k in range(len(requests))]
    made = [mark for k, request in enumerate(whole) for mark in request.marks(k)]
    rest = [_before_its_request(mark, requests) for mark in reported if "request" not in mark.detail]
    return tuple(sorted([*made, *rest], key=lambda mark: mark.at_ns))


def _with_voice(requests: Sequence[TracedRequest], k: int, reported: Sequence[Mark]) -> TracedRequest:
    """A request whose voice has no span, with the reports on the voice before the next request."""
    request = requests[k]
    if request.first_audio is not None:
        return request
    until_ns = requests[k + 1].asked if k + 1 < len(requests) else None
    within = [m for m in reported if m.at_ns >= request.asked and (until_ns is None or m.at_ns < until_ns)]
    made = next((m for m in within if m.name == marks.TTS_FIRST_AUDIO), None)
    started = next((m for m in within if m.name == marks.TTS_STARTED), None)
    if made is None or started is None:
        return request
    return replace(request, voice_started=started.at_ns, first_audio=made.at_ns)


def _heard_in_time(request: TracedRequest, bursts: Sequence[int]) -> TracedRequest:
    """The request, with audio made not later than it was heard: a clock difference must not give the reply to another
    request."""
    made = request.first_audio
    if made is None:
        return request
    late = [at for at in bursts if 0 < made - at < BURST_GAP_MS * NS_PER_MS]
    return replace(request, first_audio=max(late[0], request.voice_started or late[0])) if late else request


def _before_its_request(mark: Mark, requests: Sequence[TracedRequest]) -> Mark:
    if mark.name != marks.TURN_DECIDED:
        return mark
    led_to = [r.asked for r in requests if 0 < mark.at_ns - r.asked < BURST_GAP_MS * NS_PER_MS]
    return replace(mark, at_ns=led_to[-1]) if led_to else mark


_ASKS: Final = frozenset({"chat", "text_completion", "generate_content"})
_LONGEST_S: Final = 60.0


def traced_requests(found: Sequence[Mark]) -> list[TracedRequest]:
    """The requests found in spans, in order; none where no span is of a model."""
    spans = sorted((mark for mark in found if mark.name.startswith(PREFIX)), key=lambda mark: mark.at_ns)
    requests = _of_the_model(spans)
    voices = [span for span in spans if span.name == PREFIX + "tts"]
    made: list[TracedRequest] = []
    for k, span in enumerate(requests):
        until_ns = requests[k + 1].at_ns if k + 1 < len(requests) else None
        ttft_ns, voice = _first_ns(span), _voice(voices, span, until_ns)
        voice_ns = _first_ns(voice) if voice else None
        made.append(
            TracedRequest(
                asked=span.at_ns,
                first_token=span.at_ns + ttft_ns if ttft_ns is not None else None,
                voice_started=voice.at_ns if voice else None,
                first_audio=voice.at_ns + voice_ns if voice and voice_ns is not None else None,
            )
        )
    return made


def _of_the_model(spans: Sequence[Mark]) -> list[Mark]:
    for name in ("llm", "llm_node"):
        named = [span for span in spans if span.name == PREFIX + name]
        if named:
            return named
    return [span for span in spans if span.detail.get(OPERATION) in _ASKS]


def _voice(voices: Sequence[Mark], request: Mark, until_ns: int | None) -> Mark | None:
    return next((v for v in voices if v.at_ns >= request.at_ns and (until_ns is None or v.at_ns < until_ns)), None)


def _first_ns(span: Mark) -> int | None:
    """Time to the first token or byte, from the span."""
    for name in TTFT_ATTRIBUTES:
        seconds = span.detail.get(name)
        if isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 < seconds <= _LONGEST_S:
            return round(seconds * NS_PER_S)
    return None

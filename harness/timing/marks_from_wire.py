"""Marks for TTFT and the waterfall, made from a bot's reports over its wire. Pure.

An unmodified pipecat bot sends `metrics` (durations by its own clock) and events without a time, which count from their
arrival: an *upper bound* of when the thing happened. Causes precede their effects, which tightens the bounds: a decision
cannot be after the request that it led to, nor a token after the text that was handed to synthesis, nor audio made after it
was heard. The distance that a stamp had to be moved for that is the *resolution* shown beside the figures. Durations from
`metrics` stay as reported.

Other wires report less: that the turn is over, that a response was begun, and its first words and sound, the earlier of which
is its first token (`_STEPS` has each wire's names). The end of a recogniser's work is not used where it may run beside the
response. Where a wire has no event for the request, the end of the turn is the earliest that it can have been.

Source: the observer and the metrics of pipecat 1.14 (`pipecat.processors.frameworks.rtvi.observer`, `pipecat.metrics`);
OpenAI's reference of Realtime server events.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Literal, TypeGuard, get_args

from harness.agents import marks
from harness.agents.connection import Mark
from harness.recording.record import Arrival
from harness.timeline import NS_PER_MS, NS_PER_S
from harness.timing.clock_offset import KNOWN

TRACED: Final = "traces"
"""`detail["stamped"]` of a mark made of a span."""
REPORTED: Final = "reported"
"""`detail["stamped"]` of a mark that was made here; `detail["resolution_ms"]` is its uncertainty."""
BURST_GAP_MS: Final = 200.0
"""Audio after this long without any begins a reply. pipecat sends 40 ms a message, at most a few messages ahead."""
LEAST_RESOLUTION_MS: Final = 1.0
"""No evidence of lateness is no proof of exactness: stamps are taken in an event loop whose iterations take about this long."""
_RTVI: Final = "rtvi."
_Step = Literal["speech_started", "decided", "requested", "asked", "words", "voice", "durations", "done", "over"]
"""What an event says of a reply. `asked`: the decision and the request in one; `words`, `voice`: the first of each;
`durations`: the server's own, up to the first token (`ttft_s`) and from there to the first sound (`voice_s`);
`over`: what comes next is of another reply."""
_STEPS: Final[Mapping[str, _Step]] = MappingProxyType(
    {
        "realtime.input_audio_buffer.speech_started": "speech_started",
        "realtime.input_audio_buffer.speech_stopped": "decided",
        "realtime.response.created": "requested",
        "realtime.response.output_audio_transcript.delta": "words",
        "realtime.response.output_audio.delta": "voice",
        "realtime.response.done": "done",
        "gemini.activity_start": "speech_started",
        "gemini.activity_end": "asked",
        "gemini.words": "words",
        "gemini.audio": "voice",
        "gemini.generation_complete": "done",
        "gemini.turn_complete": "over",
        "ultravox.thinking": "asked",
        "ultravox.words": "words",
        "ultravox.audio": "voice",
        "ultravox.reply_over": "done",
        "vapi.user_started": "speech_started",
        "vapi.user_stopped": "asked",
        "vapi.model_output": "words",
        "vapi.audio": "voice",
        "vapi.assistant_stopped": "done",
        "deepgram.user_started_speaking": "speech_started",
        "deepgram.user_words": "asked",
        "deepgram.assistant_words": "words",
        "deepgram.started_speaking": "durations",
        "deepgram.latency": "durations",
        "deepgram.audio": "voice",
        "deepgram.audio_done": "done",
        "elevenlabs.user_transcript": "asked",
        "elevenlabs.words": "words",
        "elevenlabs.audio": "voice",
        "elevenlabs.agent_response_complete": "done",
        **{f"wire.{step}": step for step in get_args(_Step)},
        "livekit.thinking": "decided",
    }
)
_SAYS_REQUESTS: Final = "realtime."
"""The wire that has an event for every request, so that none is inferred from sound behind the end of a reply."""
_LONGEST_S: Final = 60.0
"""Longest possible stage of a reply for which somebody waits."""


@dataclass
class _Request:
    """Reports on one request to the language model and on the voice that spoke its answer. All times ns."""

    number: int
    started: int | None = None
    first_text: int | None = None
    first_token: int | None = None
    """Arrival of the duration up to the first token."""
    ttft_ns: int | None = None
    voice: int | None = None
    """Arrival of the duration up to the first audio."""
    voice_ns: int = 0
    speaking: int | None = None
    decided: int | None = None
    """Arrival of the decision that led to it."""


@dataclass
class _Reports:
    """The reports of a session, in order of arrival."""

    requests: list[_Request] = field(default_factory=list)
    decisions: list[int] = field(default_factory=list)
    plain: list[tuple[str, int]] = field(default_factory=list)
    """Marks that need no more than their arrival."""

    def latest(self) -> _Request:
        if not self.requests:
            self.requests.append(_Request(0))
        return self.requests[-1]

    def begin(self) -> _Request:
        self.requests.append(_Request(len(self.requests)))
        return self.requests[-1]


def reported_marks(found: Sequence[Mark], arrivals: Sequence[Arrival]) -> tuple[Mark, ...]:
    """Marks made of a bot's reports; none where it stamps its own, or reports nothing."""
    if any(mark.name in KNOWN for mark in found):
        return ()
    events = sorted(found, key=lambda mark: mark.arrival_ns)
    told = _read([m for m in events if m.name.startswith(_RTVI)])
    if any(m.name in _STEPS for m in events):
        told = _read_steps(events)
    bursts = bursts_of(arrivals)
    made = [Mark(name, at_ns, at_ns, {"stamped": REPORTED}) for name, at_ns in told.plain]
    led_to_a_request = {request.decided for request in told.requests}
    rest = [at for at in told.decisions if at not in led_to_a_request]
    made += [Mark(marks.TURN_DECIDED, at, at, {"stamped": REPORTED}) for at in rest]
    for request in told.requests:
        made += _of_request(request, bursts)
    return tuple(sorted(made, key=lambda mark: mark.at_ns))


def _read(events: Sequence[Mark]) -> _Reports:
    told, roles = _Reports(), _roles(events)
    undecided: int | None = None
    for event in events:
        at = event.arrival_ns
        match event.name.removeprefix(_RTVI):
            case "user-started-speaking" | "vad-user-started-speaking":
                told.plain.append((marks.SPEECH_STARTED, at))
            case "vad-user-stopped-speaking":
                told.plain.append((marks.SILENCE_SEEN, at))
            case "user-transcription":
                told.plain.append((marks.ASR_DONE, at))
            case "user-stopped-speaking":
                told.decisions.append(at)
                undecided = at
            case "bot-llm-started":
                request = told.begin()
                request.started, request.decided, undecided = at, undecided, None
            case "bot-llm-text":
                told.latest().first_text = told.latest().first_text or at
            case "bot-llm-stopped":
                told.plain.append((marks.LLM_DONE, at))
            case "bot-started-speaking":
                told.latest().speaking = told.latest().speaking or at
            case "bot-stopped-speaking":
                told.plain.append((marks.REPLY_DONE, at))
            case "metrics":
                _take_metrics(told, event.detail, at, roles)
    return told


def _read_steps(events: Sequence[Mark]) -> _Reports:
    told = _Reports()
    undecided: int | None = None
    over = False
    for event in events:
        at, step = event.arrival_ns, _STEPS.get(event.name)
        if step in ("words", "voice") and over and not event.name.startswith(_SAYS_REQUESTS):
            told.begin()
        over = step in ("done", "over") or (over and step not in ("requested", "asked", "words", "voice"))
        match step:
            case "speech_started":
                told.plain.append((marks.SPEECH_STARTED, at))
            case "decided":
                told.decisions.append(at)
                undecided = at
            case "requested":
                request = told.begin()
                request.started, request.decided, undecided = at, undecided, None
            case "asked":
                told.decisions.append(at)
                request = told.begin()
                request.started = request.decided = at
            case "words":
                told.latest().first_text = told.latest().first_text or at
            case "voice" if told.latest().voice is None:
                request = told.latest()
                request.first_text = request.first_text or at
                request.voice, request.voice_ns, request.speaking = at, request.voice_ns or at - request.first_text, at
            case "durations":
                request = told.latest()
                request.ttft_ns = _duration_ns(event.detail.get("ttft_s")) or request.ttft_ns
                request.voice_ns = _duration_ns(event.detail.get("voice_s")) or request.voice_ns
            case "done":
                told.plain.append((marks.LLM_DONE, at))
    return told


def _take_metrics(told: _Reports, detail: Mapping[str, object], at: int, roles: Mapping[str, str]) -> None:
    for processor, seconds in _values(detail, "ttfb", "value"):
        _take_first(told, roles.get(processor), seconds, at)
    for processor, seconds in _values(detail, "ttfat", "ttfat"):
        # Without the model's thinking before: TTFT counts to the first token of the answer.
        if roles.get(processor) == "llm" and told.requests:
            told.latest().ttft_ns, told.latest().first_token = round(seconds * NS_PER_S), at
    for processor, seconds in _values(detail, "processing", "value"):
        if roles.get(processor) == "stt":
            told.plain.append((marks.ASR_STARTED, at - round(seconds * NS_PER_S)))


def _take_first(told: _Reports, role: str | None, seconds: float, at: int) -> None:
    request = told.latest()
    if role == "llm":
        if request.ttft_ns is not None:
            request = told.begin()
        request.ttft_ns, request.first_token = round(seconds * NS_PER_S), at
    elif role == "tts" and request.voice is None:
        request.voice, request.voice_ns = at, round(seconds * NS_PER_S)


def _roles(events: Sequence[Mark]) -> dict[str, str]:
    """The role of each service: by pipecat's class names, or by a figure that only one kind of service reports."""
    roles: dict[str, str] = {}
    for event in events:
        for key in ("ttfb", "processing", "ttfat", "ttfa"):
            for name in _names(event.detail, key):
                role = next((role for role in ("llm", "stt", "tts") if role in name.lower()), None)
                sure = {"ttfat": "llm", "ttfa": "tts"}.get(key)
                if sure or role:
                    roles[name] = sure or role or ""
    return roles


def _names(detail: Mapping[str, object], key: str) -> list[str]:
    rows = detail.get(key)
    return [str(row.get("processor")) for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _values(detail: Mapping[str, object], key: str, value: str) -> list[tuple[str, float]]:
    """Durations in seconds that are plausible; pipecat reports a zero before it has measured anything."""
    rows: Any = detail.get(key)
    found = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    pairs = [(str(row.get("processor")), row.get(value)) for row in found]
    return [(name, float(seconds)) for name, seconds in pairs if _is_duration(seconds)]


def _is_duration(seconds: object) -> TypeGuard[float]:
    return isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 < seconds <= _LONGEST_S


def _duration_ns(seconds: object) -> int | None:
    return round(seconds * NS_PER_S) if _is_duration(seconds) else None


def bursts_of(arrivals: Sequence[Arrival]) -> list[int]:
    """Arrivals of each reply's first audio."""
    times = [a.arrival_ns for a in arrivals if a.count_samples]
    gap = BURST_GAP_MS * NS_PER_MS
    return [at for k, at in enumerate(times) if k == 0 or at - times[k - 1] >= gap]


class _Backwards:
    """Stamps from the effect back to its causes: none may be later than the one before."""

    def __init__(self, heard: int | None, late_ns: int) -> None:
        self._latest = heard
        self._moved_ns = late_ns
        self.steps: list[tuple[str, int]] = []

    def stamp(self, name: str, at: int) -> int:
        moved = at if self._latest is None else min(at, self._latest)
        self._moved_ns = max(self._moved_ns, at - moved)
        self._latest = moved
        self.steps.append((name, moved))
        return moved

    def marks(self, number: int) -> list[Mark]:
        resolution_ms = round(max(self._moved_ns / NS_PER_MS, LEAST_RESOLUTION_MS), 1)
        detail = {"stamped": REPORTED, "resolution_ms": resolution_ms}
        return [
            Mark(name, at, at, detail if name == marks.TURN_DECIDED else {**detail, "request": number})
            for name, at in self.steps
        ]


def _of_request(request: _Request, bursts: Sequence[int]) -> list[Mark]:
    """The marks of one request, each not later than its effect."""
    path = _Backwards(*_heard(request, bursts))
    if request.voice is not None:
        made = path.stamp(marks.TTS_FIRST_AUDIO, request.voice)
        path.stamp(marks.TTS_STARTED, made - request.voice_ns)
        # pipecat starts the voice's clock with the text that it hands over.
        path.stamp(marks.FIRST_CLAUSE, made - request.voice_ns)
    token = request.first_token or request.first_text
    if token is not None:
        token = path.stamp(marks.LLM_FIRST_TOKEN, token)
    if token is not None and request.ttft_ns is not None:
        path.stamp(marks.LLM_REQUESTED, token - request.ttft_ns)
    elif request.started is not None:
        path.stamp(marks.LLM_REQUESTED, request.started)
    if request.decided is not None:
        path.stamp(marks.TURN_DECIDED, request.decided)
    return path.marks(request.number)


def _heard(request: _Request, bursts: Sequence[int]) -> tuple[int | None, int]:
    """Arrival of the reply's first audio, if it can be found, and the distance of the bot's own report from it."""
    if request.speaking is None or not bursts:
        return None, 0
    speaking = request.speaking
    nearest = min(bursts, key=lambda at: abs(at - speaking))
    off = abs(nearest - speaking)
    return (nearest, off) if off < BURST_GAP_MS * NS_PER_MS else (None, 0)

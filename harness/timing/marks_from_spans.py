"""Marks for TTFT and the waterfall, made from an agent's spans (OpenTelemetry).

A span of the model begins where the model is asked, and carries the time to its first token as an attribute. Spans are joined
to the turn by clock and order alone: a request's voice is the first that began after it and before the next request. Durations
and spans that are known to be wrong are not used: the durations of pipecat's STT and TTS spans, which end when a context is
closed and not when sound is there; and no voice of LiveKit Agents, because its time to the first byte is counted from an
instant that the span does not contain. A voice's first audio is its span's start plus the attribute with its duration.

Names differ by framework and version (`harness.recording.spans`), and where several families are in one trace (an instrumented
client under a framework's own span), the framework's own counts. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from harness.agents import marks
from harness.agents.connection import Mark
from harness.recording.spans import OPERATION, PREFIX, TTFT_ATTRIBUTES
from harness.timeline import NS_PER_S

TRACED: Final = "traces"
"""`detail["stamped"]` of a mark that was made here."""
_ASKS: Final = frozenset({"chat", "text_completion", "generate_content"})
_LONGEST_S: Final = 60.0


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

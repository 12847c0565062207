"""The waits of one turn for model servers, from the agent's marks, each split by `harness.servers.split`.

The model's wait is TTFT: from the request to the first answer token of the request whose words were heard. A recogniser's is
the last transcription before the request, and a voice's ends with its first sound, where these have servers of their own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from harness.agents import marks
from harness.servers.request_words import of_answer, of_spans
from harness.servers.samples import ServedStage, ServerSample
from harness.servers.split import RequestTimings, ServerSplit, Wait, split
from harness.servers.windows import Trust, trusted
from harness.timeline import NS_PER_MS
from harness.timing.chain import Reply, Stamp, Stamps
from harness.timing.session_stamps import SessionStamps


class Served:
    """The servers of one session: its samples by stage, read once for all turns."""

    def __init__(self, stamped: SessionStamps, samples: Sequence[ServerSample]) -> None:
        self._stamped = stamped
        stages = dict.fromkeys(sample.stage for sample in samples)
        self._trust = {stage: trusted([s for s in samples if s.stage == stage]) for stage in stages}

    def of(self, reply: Reply | None) -> tuple[ServerSplit, ...]:
        """The split waits of one reply; none where no server says anything."""
        if reply is None:
            return ()
        found = (self._split(wait, reply) for wait in _waits(reply, self._stamped))
        return tuple(part for part in found if part is not None)

    def _split(self, wait: Wait, reply: Reply) -> ServerSplit | None:
        trust: Trust | None = self._trust.get(wait.stage)
        if wait.stage != "llm":
            return split(wait, None, trust)
        stamps = self._stamped.stamps
        request = _timings(reply, stamps)
        note = ""
        if request is None:
            request, note = of_spans([stamp.mark for stamp in stamps.all], wait)
        return split(wait, request, trust, note)


def _timings(reply: Reply, stamps: Stamps) -> RequestTimings | None:
    """The server's numbers on the request whose words were heard, on the harness's clock."""
    asked = reply.steps[marks.LLM_REQUESTED]
    said, begun = (_first(stamps, name, reply, asked) for name in (marks.LLM_TIMINGS, marks.LLM_BEGUN))
    if said is None:
        return None
    ahead_ns = said.at_ns - said.mark.at_ns
    found = of_answer(said.mark.detail, begun.at_ns if begun else None, said.mark.detail.get("stopped_ns"))
    if found is None or found.stopped_ns is None or not ahead_ns:
        return found
    return replace(found, stopped_ns=tuple((begin + ahead_ns, end + ahead_ns) for begin, end in found.stopped_ns))


def _first(stamps: Stamps, name: str, reply: Reply, after: Stamp) -> Stamp | None:
    """The first mark of a name after a step of a request: of this request by its number, or by time alone where the steps are
    not the agent's own stamps, which have numbers of ours."""
    ours = "stamped" in after.mark.detail
    later = (s for s in stamps.all if s.name == name and s.at_ns >= after.at_ns)
    return next((s for s in later if ours or s.request == reply.request), None)


def _waits(reply: Reply, stamped: SessionStamps) -> Iterator[Wait]:
    stamps, unsure_ms = stamped.stamps, stamped.clock.uncertainty_ns / NS_PER_MS
    asked, first = reply.steps.get(marks.LLM_REQUESTED), reply.steps.get(marks.LLM_FIRST_TOKEN)
    if asked is not None:
        heard = stamps.last(marks.ASR_DONE, asked.at_ns)
        begun = stamps.last(marks.ASR_STARTED, heard.at_ns) if heard is not None else None
        if heard is not None and begun is not None:
            yield _wait("asr", begun, heard, heard.at_ns, unsure_ms)
    if asked is not None and first is not None:
        done = _first(stamps, marks.LLM_DONE, reply, first)
        yield _wait("llm", asked, first, done.at_ns if done is not None else None, unsure_ms)
    started, sounded = reply.steps.get(marks.TTS_STARTED), reply.steps.get(marks.TTS_FIRST_AUDIO)
    if started is not None and sounded is not None:
        yield _wait("tts", started, sounded, sounded.at_ns, unsure_ms)


def _wait(stage: ServedStage, begin: Stamp, end: Stamp, over_ns: int | None, unsure_ms: float) -> Wait:
    return Wait(stage, begin.at_ns, end.at_ns, over_ns, unsure_ms)

"""Marks as any agent may stamp or tell them, drawn by a seed: speculation, drafts, caches, coarse clocks, lies, or none."""

from dataclasses import dataclass, replace
from random import Random

from benchmarks.made_recordings import make_recording
from harness.agents import marks
from harness.agents.connection import NO_TIME_NS, Mark
from harness.recording.record import Arrival, Recording
from harness.recording.spans import PREFIX
from harness.timing.chain import OF_A_REQUEST
from harness.timing.rtp_line import NetworkShare
from harness.timing.waterfall import Audible

MS = 1_000_000
GRIDS_NS = (1, 1, 1_000, MS, 10 * MS, 100 * MS, 1_000 * MS)
OFFSETS_NS = (0, 0, 0, 400_000 * MS, -400_000 * MS, 2**52)
OF_THE_TURN = (
    marks.SPEECH_STARTED, marks.SILENCE_SEEN, marks.ASR_STARTED, marks.ASR_DONE, marks.TURN_SCORED, marks.ENDPOINT_REACHED,
    marks.TURN_DECIDED,
)  # fmt: skip
RTVI = (
    "user-started-speaking", "vad-user-stopped-speaking", "user-stopped-speaking", "user-transcription", "bot-llm-started",
    "bot-llm-text", "bot-llm-stopped", "bot-started-speaking", "bot-stopped-speaking",
)  # fmt: skip
REALTIME = (
    "input_audio_buffer.speech_started", "input_audio_buffer.speech_stopped", "response.created",
    "response.output_audio_transcript.delta", "response.output_audio.delta", "response.done",
)  # fmt: skip
MADE = make_recording()


@dataclass(frozen=True)
class Case:
    """A reply that was heard, and what its agent says of it. `recording` holds no sound of the agent, only its arrivals."""

    recording: Recording
    audible: Audible
    arrived_ns: int
    network: NetworkShare | None


def draw(seed: int) -> Case:
    """The case of a seed."""
    rng = Random(seed)
    ttfa_ns = rng.choice([0, 1, rng.randrange(40) * MS, rng.randrange(15_000) * MS + rng.randrange(MS)])
    onset_ns = MADE.spoken_end_ns + ttfa_ns
    arrived_ns = onset_ns - rng.choice([0, 0, rng.randrange(max(1, min(ttfa_ns, 400 * MS) + 1))])
    lead_ns = rng.choice([0, onset_ns - arrived_ns, rng.randrange(onset_ns - arrived_ns + 1)])
    begun_ns = arrived_ns - rng.choice([0, 0, rng.randrange(200 * MS)])
    told = rng.choice([_cascade, _cascade, _cascade, _anything, _rtvi, _spans, _nothing])(rng, arrived_ns)
    grid_ns, offset_ns = rng.choice(GRIDS_NS), rng.choice(OFFSETS_NS)
    if rng.random() < 0.08:
        told = [replace(m, at_ns=told[0].at_ns) for m in told]
    told = [replace(m, at_ns=m.at_ns // grid_ns * grid_ns - offset_ns) for m in told]
    told = [_lie(rng, m) if rng.random() < 0.04 else m for m in told]
    if rng.random() < 0.1:
        rng.shuffle(told)
    recording = replace(MADE.recording, marks=tuple(told), arrivals=_arrivals(rng, begun_ns, arrived_ns))
    network = NetworkShare(*(rng.choice([0, rng.randrange(300 * MS)]) for _ in range(3))) if rng.random() < 0.3 else None
    return Case(recording, Audible(MADE.spoken_end_ns, onset_ns, begun_ns, lead_ns), arrived_ns, network)


def _arrivals(rng: Random, begun_ns: int, arrived_ns: int) -> tuple[Arrival, ...]:
    between = sorted(rng.randrange(begun_ns, arrived_ns + 1) for _ in range(rng.randrange(3)))
    return tuple(Arrival(at, 480 * k, 480) for k, at in enumerate([begun_ns, *between, arrived_ns]))


def _stamped(rng: Random, name: str, at_ns: int, **detail: object) -> Mark:
    return Mark(name, at_ns, at_ns + rng.choice([0, 1_000, MS, rng.randrange(80 * MS)]), detail)


def _cascade(rng: Random, arrived_ns: int) -> list[Mark]:
    """Tries, one after another or over one another, of which the last was heard; each step may be missing or take no time."""
    found: list[Mark] = []
    numbered = rng.random() < 0.8
    at = MADE.spoken_end_ns - rng.randrange(3_000) * MS
    for request in range(rng.randrange(1, 5)):
        for name in OF_THE_TURN:
            if rng.random() < 0.7:
                at += rng.choice([0, rng.randrange(MS), rng.randrange(300 * MS)])
                cause = {"cause": rng.choice(OF_THE_TURN)} if name == marks.ENDPOINT_REACHED else {}
                found.append(_stamped(rng, name, at, **cause))
        tied = {"request": request} if numbered else {}
        for name in (*OF_A_REQUEST, marks.LLM_DONE, marks.TTS_DONE, marks.SPECULATION_DROPPED):
            if rng.random() < 0.8:
                at += rng.choice([0, 0, rng.randrange(MS), rng.randrange(200 * MS)])
                found.append(_stamped(rng, name, at, **tied))
        at -= rng.choice([0, rng.randrange(400 * MS)])
    if rng.random() < 0.7 and found:
        # Most agents send what was heard before it arrives.
        late = max(m.at_ns for m in found) - arrived_ns
        found = [replace(m, at_ns=m.at_ns - late, arrival_ns=m.arrival_ns - late) for m in found]
    return found


def _anything(rng: Random, arrived_ns: int) -> list[Mark]:
    names = (*OF_THE_TURN, *OF_A_REQUEST, marks.LLM_DONE, marks.TTS_DONE, "its own")
    few = [rng.randrange(MADE.recording.caller.t0_ns, arrived_ns + MS) for _ in range(rng.randrange(1, 6))]
    requests = (None, None, 0, 1, 1.0, True, "1", [1])
    drawn = [(rng.choice(names), rng.choice(few), rng.choice(requests)) for _ in range(rng.randrange(40))]
    return [_stamped(rng, name, at, **({} if r is None else {"request": r})) for name, at, r in drawn]


def _rtvi(rng: Random, arrived_ns: int) -> list[Mark]:
    """Reports, which bear no time but their arrival, and durations."""
    kind, names = rng.choice([("rtvi.", RTVI), ("realtime.", REALTIME)])
    at = arrived_ns - rng.randrange(3_000) * MS
    found: list[Mark] = []
    for _ in range(rng.randrange(30)):
        at += rng.choice([0, rng.randrange(300 * MS)])
        if kind == "rtvi." and rng.random() < 0.3:
            key = rng.choice(["ttfb", "ttfat", "processing"])
            value = rng.choice([0, 0.001, rng.random(), 59.0, 61.0, -1.0, None])
            service = rng.choice(["OpenAILLMService#0", "PiperTTSService#0", "WhisperSTTService#0", "?"])
            row = {"processor": service, "ttfat" if key == "ttfat" else "value": value}
            found.append(Mark("rtvi.metrics", at, at, {key: [row]}))
        else:
            found.append(Mark(kind + rng.choice(names), at, at, {}))
    return found


def _spans(rng: Random, arrived_ns: int) -> list[Mark]:
    at = arrived_ns - rng.randrange(3_000) * MS
    found: list[Mark] = []
    for _ in range(rng.randrange(1, 8)):
        at += rng.choice([0, rng.randrange(500 * MS)])
        name = rng.choice(["llm", "tts", "llm_node", "stt", "turn"])
        took = rng.choice([{}, {"metrics.ttfb": rng.random()}, {"lk.response.ttft": rng.random() * 2}, {"metrics.ttfb": 1e-9}])
        found.append(Mark(PREFIX + name, at, at, took))
    return found + (_rtvi(rng, arrived_ns) if rng.random() < 0.5 else [])


def _nothing(rng: Random, arrived_ns: int) -> list[Mark]:
    return [] if rng.random() < 0.5 else [_stamped(rng, "its own", arrived_ns)]


def _lie(rng: Random, mark: Mark) -> Mark:
    lie = rng.choice([NO_TIME_NS, -(10**12), 2**63, mark.at_ns + 10**12, mark.at_ns - 10**12, mark.at_ns + 500 * MS])
    return replace(mark, at_ns=lie)

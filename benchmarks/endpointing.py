"""How much waiting does it cost not to talk over a caller? Endpoint policies over spoken turns with marked pauses.

    python -m benchmarks.endpointing observe seen.jsonl      # minutes: renders, listens, transcribes, scores every pause
    python -m benchmarks.endpointing report seen.jsonl       # seconds: every policy over what was seen

Endpointing depends on audio time and on scores, not on how fast a machine is; so each pause is observed once, with the very
parts that the agent uses (silero, the turn tracker, short-window Whisper, the scorers), and every policy is then worked
out on what was seen. A pause is *cut* if the policy would have ended the turn before the tracker heard speech resume.
The time to first audio is the later of endpoint and prepared audio (`--ready-ms`, measured on a live agent). Policies are
chosen on the contexts of one half and reported on those of the other.
"""

import argparse
import asyncio
import json
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.cascade.endpoint_policies import (
    AdaptiveSilence,
    BlendedScorer,
    EndpointPolicy,
    FixedSilence,
    PauseEvidence,
    ScoredSilence,
)
from agents.cascade.level_gate import LevelGate
from agents.cascade.turn_scorers import LengthScorer
from agents.cascade.turn_tracker import WINDOW_SAMPLES, SpeechEvent, TurnTracker

RATE_HZ = 16_000
_LEAD_SAMPLES = RATE_HZ // 2
_TAIL_SAMPLES = 2 * RATE_HZ
_FINAL_FROM_MS = -150.0
"""A silence that begins this close to the spoken end is the end of the turn: a voice's last consonant can be inaudible."""
_TRANSPORT_MS = 10.0
_EAGER_SAMPLES = RATE_HZ // 10
"""Shorter silences (a closed mouth between two sounds) end no turn under any policy, and the agent lets them pass too."""
_TALKERS = 6
_P95_FROM = 60
"""Fewer turns give no 95th percentile worth printing."""
BABBLE_SNR_DB = 10.0


@dataclass(frozen=True, slots=True)
class SeenPause:
    """A silence as the tracker saw it. Times in ms after the spoken end of the turn; `length_ms` None: nobody resumed."""

    context: str
    voice: str
    condition: str
    start_ms: float
    length_ms: float | None
    marked_ms: float | None
    text: str
    scores: dict[str, float]

    @property
    def final(self) -> bool:
        return self.length_ms is None or self.start_ms >= _FINAL_FROM_MS

    @property
    def key(self) -> tuple[str, str, str]:
        return self.context, self.voice, self.condition


@dataclass(frozen=True, slots=True)
class Outcome:
    """A policy over a set of turns. Shares are None where there was nothing to count."""

    short_cut: tuple[int, int]
    """Marked pauses under 800 ms that were cut, and how many there were."""
    all_cut: tuple[int, int]
    other_cut: tuple[int, int]
    """Silences that nobody marked (between words and sentences) and that were taken for the end."""
    ttfa_p50_ms: float | None
    ttfa_p95_ms: float | None
    unanswered: int
    """Turns whose end was never seen: the line did not fall silent enough."""


async def evaluate(make: Any, seen: Sequence[SeenPause], ready_ms: float) -> Outcome:
    """Work out a policy. `make` builds a fresh policy, because an adaptive one learns within a conversation."""
    cuts: list[tuple[float | None, bool]] = []
    ttfa: list[float] = []
    for _, pauses in _by_turn(seen):
        policy: EndpointPolicy = make()
        answered = False
        for pause in pauses:
            needed_ms = await policy.silence_needed_ms(PauseEvidence(json.dumps(pause.scores), np.zeros(0, np.float32)))
            ends = pause.length_ms is None or pause.length_ms > needed_ms
            if pause.final and ends and not answered:
                answered = True
                ttfa.append(pause.start_ms + max(needed_ms, ready_ms) + _TRANSPORT_MS)
            elif not pause.final:
                cuts.append((pause.marked_ms, ends))
                policy.observe_pause(pause.length_ms or 0.0)
    marked = [(length, cut) for length, cut in cuts if length is not None]
    short = [cut for length, cut in marked if length < 800]
    unmarked = [cut for length, cut in cuts if length is None]
    return Outcome(
        (sum(short), len(short)),
        (sum(cut for _, cut in marked), len(marked)),
        (sum(unmarked), len(unmarked)),
        float(np.median(ttfa)) if ttfa else None,
        float(np.percentile(ttfa, 95)) if len(ttfa) >= _P95_FROM else None,
        len({pause.key for pause in seen}) - len(ttfa),
    )


@dataclass(frozen=True, slots=True)
class _Recorded:
    """A scorer that gives back what was observed."""

    name: str

    async def probability_complete(self, evidence: PauseEvidence) -> float:
        return float(json.loads(evidence.text)[self.name])


def policies() -> Iterator[tuple[str, str, Any]]:
    """Every policy that is compared: (family, setting, maker)."""
    llm, smart, word = _Recorded("llm"), _Recorded("smart-turn"), _Recorded("last-word")
    blends = {
        "two-speed llm": llm,
        "two-speed llm + smart-turn": BlendedScorer([(llm, 1.0), (smart, 0.5)]),
        "two-speed llm + length": BlendedScorer([(llm, 1.0), (_Recorded("length"), 1.0)]),
    }
    for silence in (300, 400, 450, 500, 550, 600, 650, 700, 750, 800, 850, 900):
        yield "fixed", f"{silence}", lambda s=silence: FixedSilence(s)
    for long in (600, 700, 750, 800, 850, 1000, 1300):
        for short in (350, 420, 450, 500, 550, 600):
            for threshold in (0.2, 0.3, 0.4, 0.45, 0.5, 0.6):
                for name, scorer in blends.items():
                    yield (
                        name,
                        f"{short}/{long} at {threshold}",
                        lambda c=scorer, s=short, g=long, t=threshold: ScoredSilence(c, s, g, t, t),
                    )
                yield (
                    "two-speed llm, adaptive",
                    f"{short}/{long} at {threshold}",
                    lambda s=short, g=long, t=threshold: AdaptiveSilence(ScoredSilence(llm, s, g, t, t), 0.8, 1.1, 850),
                )
            for low, high in ((0.05, 0.4), (0.1, 0.5), (0.1, 0.7), (0.2, 0.8)):
                yield (
                    "graded llm",
                    f"{short}/{long} from {low} to {high}",
                    lambda s=short, g=long, lo=low, hi=high: ScoredSilence(llm, s, g, lo, hi),
                )
            yield (
                "two-speed smart-turn",
                f"{short}/{long}",
                lambda s=short, g=long: ScoredSilence(smart, s, g, 0.5, 0.5),
            )
            yield "two-speed last word", f"{short}/{long}", lambda s=short, g=long: ScoredSilence(word, s, g, 0.5, 0.5)


async def report(seen: Sequence[SeenPause], ready_ms: float, most_cut: float, plot: Path | None) -> str:
    """Markdown: for each family the setting with the lowest p50 that cut at most `most_cut` of the short pauses."""
    clean = [pause for pause in seen if pause.condition == "clean"]
    chosen_on = [pause for pause in clean if _half(pause.context) == 0]
    reported_on = [pause for pause in clean if _half(pause.context) == 1]
    best: dict[str, tuple[float, str, Any]] = {}
    curve: list[dict[str, Any]] = []
    for family, setting, make in policies():
        tried = await evaluate(make, chosen_on, ready_ms)
        share = tried.short_cut[0] / tried.short_cut[1]
        curve.append({"family": family, "setting": setting, "cut": share, "ttfa": tried.ttfa_p50_ms})
        if share <= most_cut and tried.ttfa_p50_ms is not None and tried.ttfa_p50_ms < best.get(family, (np.inf,))[0]:
            best[family] = (tried.ttfa_p50_ms, setting, make)
    lines = [
        f"At most {most_cut:.0%} of pauses under 800 ms cut on the half that chose; figures of the other half "
        f"({len({p.key for p in reported_on})} turns). TTFA with audio ready {ready_ms:.0f} ms after the silence begins.",
        "",
        "| policy | setting | condition | TTFA p50 | p95 | cut < 800 ms | cut, all marked | unmarked taken for the end "
        "| never ended |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for family, (_, setting, make) in sorted(best.items(), key=lambda item: item[1][0]):
        for condition in sorted({pause.condition for pause in seen}):
            part = [p for p in seen if p.condition == condition and _half(p.context) == 1]
            got = await evaluate(make, part, ready_ms)
            lines.append(
                f"| {family} | {setting} | {condition} | {_ms(got.ttfa_p50_ms)} | {_ms(got.ttfa_p95_ms)} | "
                f"{_of(got.short_cut)} | {_of(got.all_cut)} | {_of(got.other_cut)} | {got.unanswered} |"
            )
    if plot is not None:
        _draw(curve, plot)
    return "\n".join(lines)


def _ms(value: float | None) -> str:
    return "–" if value is None else f"{value:.0f}"


def _of(counted: tuple[int, int]) -> str:
    return f"{counted[0]} of {counted[1]}"


def _half(context: str) -> int:
    return zlib.crc32(context.encode()) % 2


def _by_turn(seen: Iterable[SeenPause]) -> Iterator[tuple[tuple[str, str, str], list[SeenPause]]]:
    turns: dict[tuple[str, str, str], list[SeenPause]] = {}
    for pause in seen:
        turns.setdefault(pause.key, []).append(pause)
    yield from turns.items()


def _draw(curve: list[dict[str, Any]], path: Path) -> None:
    import altair as alt

    chart = (
        alt.Chart(alt.Data(values=curve), title="Endpoint policies: waiting against cutting in")
        .mark_point(filled=True, opacity=0.7)
        .encode(
            x=alt.X("cut:Q", title="share of pauses under 800 ms cut").axis(format="%"),
            y=alt.Y("ttfa:Q", title="time to first audio, p50, ms").scale(zero=False),
            color=alt.Color("family:N", title="policy"),
        )
        .properties(width=560, height=360)
    )
    chart.save(str(path))


async def observe(out: Path, pack: str, voices: Sequence[str], limit: int | None, degraded: int) -> None:
    """Listen to every turn as the agent would, and write each pause with everybody's opinion of it."""
    from agents.cascade.llama_prompt import LlamaPrompt
    from agents.cascade.llm_server import LlmServer, ServerOptions
    from agents.cascade.prompt import system_instruction
    from agents.cascade.settings import ReplySettings, StreamingWhisper
    from agents.cascade.short_context_whisper import ShortContextWhisper
    from agents.cascade.turn_scorers import LastWordScorer, SmartTurnScorer
    from audio.pcm import resample
    from audio.speech import render_turn
    from audio.speech_voices import caller_voice
    from audio.synthesis import PiperSynthesiser
    from harness.models.store import cache_folder, resolve
    from scenarios.pack import load_pack

    whisper = ShortContextWhisper(StreamingWhisper(service="streaming-whisper"), str(resolve("whisper-tiny.en")))
    # One thread: this is no measurement of speed, and one does not stall beside other work.
    server = LlmServer(ServerOptions(str(resolve("smollm2-135m")), threads=1, prompt_threads=1))
    await server.start()
    smart, word = SmartTurnScorer(), LastWordScorer()
    synthesiser = PiperSynthesiser(resolve("piper-joe"))
    contexts = [c for c in load_pack(pack).contexts if c.subset == "regular"][:limit]

    def spoken(context: Any, voice: str) -> Any:
        said, speaker = context.spoken, caller_voice(voice)[0].speaker
        return render_turn(said.text, said.speech, synthesiser, cache_folder() / "speech", speaker)

    def floats(turn: Any) -> NDArray[np.float32]:
        return np.asarray(resample(turn.samples, turn.rate_hz, RATE_HZ).astype(np.float32) / 32768, np.float32)

    babble = np.concatenate([floats(spoken(c, voices[0])) for c in contexts[-3:]])
    try:
        with out.open("w") as file:
            for number, context in enumerate(contexts):
                prompt = LlamaPrompt(server.url, system_instruction(ReplySettings()))
                roles = {"seeker": "user", "supporter": "assistant"}
                history = [{"role": roles[turn.role], "content": turn.plain} for turn in context.history]
                for voice in voices:
                    turn = spoken(context, voice)
                    dry = floats(turn)
                    marks = [(a * RATE_HZ // turn.rate_hz, b * RATE_HZ // turn.rate_hz) for a, b in turn.pauses]
                    conditions = (
                        ["clean"] if number >= degraded or voice != voices[0] else ["clean", "babble", "telephone"]
                    )
                    for condition in conditions:
                        signal = degrade(dry, condition, babble)
                        for begin, end, resumed, samples in listen(signal, whisper):
                            text = samples[1]
                            evidence = PauseEvidence(text, samples[0])
                            scores = {
                                "llm": await prompt.probability_complete(history, text),
                                "smart-turn": await smart.probability_complete(evidence),
                                "last-word": await word.probability_complete(evidence),
                            }
                            spoken_end = _LEAD_SAMPLES + len(dry)
                            seen = SeenPause(
                                context.id,
                                voice,
                                condition,
                                round((begin - spoken_end) / RATE_HZ * 1000, 1),
                                round((end - begin) / RATE_HZ * 1000, 1) if resumed else None,
                                _marked_ms(begin - _LEAD_SAMPLES, end - _LEAD_SAMPLES, marks),
                                text,
                                scores,
                            )
                            file.write(json.dumps(asdict(seen)) + "\n")
                await prompt.close()
                print(f"{number + 1} of {len(contexts)}: {context.id}", file=sys.stderr, flush=True)
    finally:
        await server.stop()


def listen(
    signal: NDArray[np.float32], whisper: Any
) -> Iterator[tuple[int, int, bool, tuple[NDArray[np.float32], str]]]:
    """Each silence of a turn: its bounds in samples, whether speech resumed, and (audio, text) of the words before it.

    Long turns are transcribed in pieces, frozen at pauses, exactly as the live service does.
    """
    from pipecat.audio.vad.silero import SileroVADAnalyzer

    from agents.cascade import streaming_whisper as live

    vad = SileroVADAnalyzer(sample_rate=RATE_HZ)
    vad.set_sample_rate(RATE_HZ)
    tracker, gate = TurnTracker(0.5), LevelGate()
    settled: list[str] = []
    piece_start = 0
    pcm = (np.clip(signal, -1, 1) * 32767).astype(np.int16)

    def words_until(silence_start: int) -> tuple[NDArray[np.float32], str]:
        samples = signal[piece_start : silence_start + live.TAIL_SAMPLES]
        return samples, " ".join([*settled, whisper.transcribe(samples).text]).strip()

    while tracker.position + WINDOW_SAMPLES <= len(pcm):
        window = pcm[tracker.position : tracker.position + WINDOW_SAMPLES]
        probability = float(np.squeeze(vad.voice_confidence(window.tobytes())))
        event = tracker.push(probability if gate.push(window) else 0.0)
        if event is SpeechEvent.STARTED:
            piece_start = max(0, tracker.speech_start - live.LEAD_IN_SAMPLES)
        elif event is SpeechEvent.RESUMED:
            resumed_at = tracker.position - 2 * WINDOW_SAMPLES
            if resumed_at - tracker.silence_start < _EAGER_SAMPLES:
                continue
            heard = words_until(tracker.silence_start)
            yield tracker.silence_start, resumed_at, True, heard
            if tracker.silence_start - piece_start >= live.FREEZE_FROM_SAMPLES:
                settled = [heard[1]]
                piece_start = max(tracker.silence_start, resumed_at - live.LEAD_IN_SAMPLES)
    if tracker.pausing:
        yield tracker.silence_start, tracker.position, False, words_until(tracker.silence_start)


def degrade(dry: NDArray[np.float32], condition: str, babble: NDArray[np.float32]) -> NDArray[np.float32]:
    """The turn with lead-in and tail, as it reaches an agent: clean, among talkers at 10 dB, or over a telephone line."""
    from audio.pcm import decode, encode, resample

    track = np.concatenate([np.zeros(_LEAD_SAMPLES), dry, np.zeros(_TAIL_SAMPLES)]).astype(np.float32)
    if condition == "babble":
        talkers = sum(np.resize(np.roll(babble, k * 37_000), track.size) for k in range(_TALKERS))
        speech_power = np.mean(np.square(dry[np.abs(dry) > 0.005]))
        gain = np.sqrt(speech_power / np.mean(np.square(talkers)) / 10 ** (BABBLE_SNR_DB / 10))
        track = track + np.float32(gain) * talkers.astype(np.float32)
    if condition == "telephone":
        narrow = resample((np.clip(track, -1, 1) * 32767).astype(np.int16), RATE_HZ, 8_000)
        back = resample(decode(encode(narrow, "ulaw"), "ulaw"), 8_000, RATE_HZ)
        track = np.resize(back, track.size).astype(np.float32) / 32768
    return np.asarray(track, np.float32)


def _marked_ms(begin: int, end: int, marks: Sequence[tuple[int, int]]) -> float | None:
    """Length of the marked pause that a silence overlaps, if it does."""
    found = [(b - a) for a, b in marks if a < end and b > begin]
    return None if not found else round(max(found) / RATE_HZ * 1000, 1)


def load(path: Path) -> list[SeenPause]:
    """What `observe` wrote, with the scores that need nothing but the text."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    length = LengthScorer()
    for row in rows:
        evidence = PauseEvidence(row["text"], np.zeros(0, np.float32))
        row["scores"]["length"] = asyncio.run(length.probability_complete(evidence))
    return [SeenPause(**row) for row in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description="Endpoint policies over spoken turns with marked pauses.")
    parser.add_argument("what", choices=["observe", "report"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--pack", default="heart-open")
    parser.add_argument("--voices", default="joe,jo")
    parser.add_argument("--limit", type=int, help="contexts")
    parser.add_argument("--degraded", type=int, default=30, help="contexts that are also played degraded")
    parser.add_argument("--ready-ms", type=float, default=300.0, help="from the silence's beginning to prepared audio")
    parser.add_argument("--most-cut", type=float, default=0.05)
    parser.add_argument("--plot", type=Path)
    given = parser.parse_args()
    if given.what == "observe":
        asyncio.run(observe(given.file, given.pack, given.voices.split(","), given.limit, given.degraded))
    else:
        print(asyncio.run(report(load(given.file), given.ready_ms, given.most_cut, given.plot)))


if __name__ == "__main__":
    main()

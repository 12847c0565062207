"""What an agent sees of spoken turns: every silence, how it looked to each scorer, and whether the caller went on.

    python -m benchmarks.endpointing_observe seen.jsonl --packs heart-open --turns all     # ten minutes

Each pause is observed once, with the very parts that the agent uses (silero, the level gate, the turn tracker, short-window
Whisper, the scorers), so that any number of policies can be worked out on it afterwards (`benchmarks.endpointing`). Callers are
rendered as in a run: who speaks is drawn per context from a seed. A turn that an agent would end too soon is observed to its
true end all the same, since a policy must be judged at every pause.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.cascade.endpoint_policies import PauseEvidence
from agents.cascade.level_gate import LevelGate
from agents.cascade.turn_text import TurnText
from agents.cascade.turn_tracker import WINDOW_SAMPLES, SpeechEvent, TurnTracker
from audio.conditions import parse_condition
from audio.level import last_sample
from audio.speech import RenderedTurn
from benchmarks.endpointing import SeenPause
from scenarios.context import Context, Turn

RATE_HZ = 16_000
_LEAD_SAMPLES = RATE_HZ // 2
_TAIL_SAMPLES = 2 * RATE_HZ
_EAGER_SAMPLES = RATE_HZ // 10
"""Shorter silences (a closed mouth between two sounds) end no turn under any policy, and the agent lets them pass too."""
_LISTENS_SAMPLES = RATE_HZ // 5
"""Silence that smart-turn was trained with, and at which the agent asks it."""
_OPINION_SAMPLES = RATE_HZ // 5
"""Nobody is asked about silences under 200 ms: no policy ends a turn there, and an inner pause is 200 ms and more."""


@dataclass(frozen=True, slots=True)
class Silence:
    """One silence of a turn, in samples of the track: its bounds, whether speech resumed, and what was heard before it."""

    begin: int
    end: int
    resumed: bool
    text: str
    heard_from: int


async def observe(out: Path, packs: Sequence[str], turns: str, limit: int | None, conditions: Sequence[str]) -> None:
    """Listen to every turn as the agent would, and write each pause with everybody's opinion of it."""
    from agents.cascade.llm_server import LlmServer, ServerOptions
    from agents.cascade.settings import StreamingWhisper
    from agents.cascade.short_context_whisper import ShortContextWhisper
    from harness.models.store import resolve
    from harness.run.voices import open_voices
    from scenarios.pack import load_pack

    whisper = ShortContextWhisper(StreamingWhisper(service="streaming-whisper"), str(resolve("whisper-tiny.en")))
    # One thread: this is no measurement of speed, and one does not stall beside other work.
    server = LlmServer(ServerOptions(str(resolve("smollm2-135m")), threads=1, prompt_threads=1))
    await server.start()
    try:
        with out.open("w", encoding="utf-8") as file:
            for name in packs:
                voices = open_voices(load_pack(name))
                contexts = voices.pack.contexts[:limit]
                wanted = [(c, k, voices.wish_of(c)) for c in contexts for k in _indices(c, turns)]
                voices.prepare([(c.turns[k], wish) for c, k, wish in wanted], lambda: None)
                for number, (context, k, wish) in enumerate(wanted):
                    rendered = voices.render(context.turns[k], wish)
                    for condition in conditions:
                        track, at = _track(rendered, condition, number)
                        silences = list(listen(track, whisper))
                        for seen in await _opinions(server.url, context, k, wish, condition, track, at, rendered, silences):
                            file.write(json.dumps(asdict(seen)) + "\n")
                    print(f"{name}: {number + 1} of {len(wanted)}", file=sys.stderr, flush=True)
    finally:
        await server.stop()


def _indices(context: Context, turns: str) -> list[int]:
    seekers = [k for k, turn in enumerate(context.turns) if turn.role == "seeker"]
    last = seekers[-1]
    return {"last": [last], "earlier": [k for k in seekers if k != last], "all": seekers}[turns]


def _track(rendered: RenderedTurn, condition: str, seed: int) -> tuple[NDArray[np.float32], int]:
    """The turn with lead-in and tail as it reaches an agent, and the sample at which its speech ends."""
    from audio.pcm import resample

    dry = resample(rendered.samples, rendered.rate_hz, RATE_HZ)
    last = last_sample(dry, RATE_HZ)
    ends = _LEAD_SAMPLES + (len(dry) if last is None else last + 1)
    whole = np.concatenate([np.zeros(_LEAD_SAMPLES, np.int16), dry, np.zeros(_TAIL_SAMPLES, np.int16)])
    heard = parse_condition(condition).apply(whole, RATE_HZ, seed)
    return np.asarray(heard[: whole.size].astype(np.float32) / 32768, np.float32), ends


async def _opinions(
    url: str,
    context: Context,
    k: int,
    wish: str,
    condition: str,
    track: NDArray[np.float32],
    spoken_end: int,
    rendered: RenderedTurn,
    silences: Sequence[Silence],
) -> list[SeenPause]:
    from agents.cascade.llama_prompt import LlamaPrompt
    from agents.cascade.prompt import system_instruction
    from agents.cascade.settings import ReplySettings
    from agents.cascade.turn_scorers import LastWordScorer, SmartTurnScorer

    smart, word = SmartTurnScorer(), LastWordScorer()
    prompt = LlamaPrompt(url, system_instruction(ReplySettings()))
    ratio = RATE_HZ / rendered.rate_hz
    marks = [(round(a * ratio) + _LEAD_SAMPLES, round(b * ratio) + _LEAD_SAMPLES) for a, b in rendered.pauses]
    history = [_message(turn) for turn in context.turns[:k]]
    found = []
    try:
        for silence in silences:
            scores: dict[str, float] = {}
            if silence.end - silence.begin >= _OPINION_SAMPLES:
                listened = PauseEvidence(silence.text, track[: silence.begin + _LISTENS_SAMPLES])
                scores = {
                    "llm": await prompt.probability_complete(history, silence.text),
                    "smart-turn": await smart.probability_complete(listened),
                    "last-word": await word.probability_complete(listened),
                }
            kinds = [(b - a, end.kind) for (a, b), end in zip(marks, rendered.ends, strict=False) if _meets(silence, a, b)]
            marked = max(kinds) if kinds else None
            found.append(
                SeenPause(
                    context=context.id,
                    turn=k,
                    voice=wish,
                    condition=condition,
                    start_ms=round((silence.begin - spoken_end) / RATE_HZ * 1000, 1),
                    length_ms=round((silence.end - silence.begin) / RATE_HZ * 1000, 1) if silence.resumed else None,
                    marked_ms=None if marked is None else round(marked[0] / RATE_HZ * 1000, 1),
                    kind="unmarked" if marked is None else marked[1],
                    text=silence.text,
                    spoke_ms=round((silence.begin - silence.heard_from) / RATE_HZ * 1000, 1),
                    scores=scores,
                )
            )
    finally:
        await prompt.close()
    return found


def _message(turn: Turn) -> dict[str, str]:
    return {"role": {"seeker": "user", "supporter": "assistant"}[turn.role], "content": turn.plain}


def _meets(silence: Silence, begin: int, end: int) -> bool:
    return begin < silence.end and end > silence.begin


def listen(signal: NDArray[np.float32], whisper: Any) -> Iterator[Silence]:
    """Each silence of a turn, with the words before it.

    Long turns are transcribed in pieces, frozen at pauses, exactly as the live service does.
    """
    from pipecat.audio.vad.silero import SileroVADAnalyzer

    from agents.cascade import streaming_whisper as live

    vad = SileroVADAnalyzer(sample_rate=RATE_HZ)
    vad.set_sample_rate(RATE_HZ)
    tracker, gate = TurnTracker(0.5), LevelGate()
    turn = TurnText(0)
    pcm = (np.clip(signal, -1, 1) * 32767).astype(np.int16)

    def words_until(silence_start: int) -> str:
        samples = signal[turn.piece_start : silence_start + live.TAIL_SAMPLES]
        piece: str = whisper.transcribe(samples, live.least_words(turn.piece_words)).text
        turn.heard_piece(len(piece.split()))
        return piece

    while tracker.position + WINDOW_SAMPLES <= len(pcm):
        window = pcm[tracker.position : tracker.position + WINDOW_SAMPLES]
        probability = float(np.squeeze(vad.voice_confidence(window.tobytes())))
        event = tracker.push(probability if gate.push(window) else 0.0)
        if event is SpeechEvent.STARTED:
            turn = TurnText(max(0, tracker.speech_start - live.LEAD_IN_SAMPLES))
        elif event is SpeechEvent.RESUMED:
            silence, resumed_at = tracker.silence_start, tracker.position - 2 * WINDOW_SAMPLES
            if resumed_at - silence < _EAGER_SAMPLES:
                continue
            piece = words_until(silence)
            yield Silence(silence, resumed_at, True, turn.with_piece(piece), tracker.speech_start)
            if turn.freeze(piece, silence, max(silence, resumed_at - live.LEAD_IN_SAMPLES)):
                least = live.least_words(turn.stretch_words)
                again = whisper.transcribe(signal[turn.stretch_start : silence + live.TAIL_SAMPLES], least).text
                if len(again.split()) >= least:
                    turn.heard_again(again)
    if tracker.pausing:
        piece = words_until(tracker.silence_start)
        yield Silence(tracker.silence_start, tracker.position, False, turn.with_piece(piece), tracker.speech_start)


def main() -> None:
    parser = argparse.ArgumentParser(description="Observe the pauses of spoken turns as an agent would.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--packs", default="heart-open")
    parser.add_argument("--turns", choices=("last", "earlier", "all"), default="last")
    parser.add_argument("--limit", type=int, help="contexts of each pack")
    parser.add_argument("--conditions", default="clean")
    given = parser.parse_args()
    asyncio.run(observe(given.out, given.packs.split(","), given.turns, given.limit, given.conditions.split(",")))


if __name__ == "__main__":
    main()

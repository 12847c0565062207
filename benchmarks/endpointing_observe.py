"""What an agent sees of spoken turns: every silence, how it looked to each scorer, and whether the caller went on.

    python -m benchmarks.endpointing_observe seen.jsonl --packs heart-open --turns all     # ten minutes

Each pause is observed once, with the parts that the agent uses (silero, the level gate, the turn tracker, Moonshine, the
scorers; not its transcripts in mid-speech), so that any number of policies can be worked out on it afterwards
(`benchmarks.endpointing`). Callers are rendered as in a run: who speaks is drawn per context from a seed. A turn that an
agent would end too soon is observed to its true end all the same, since a policy must be judged at every pause.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.endpointing import SeenPause, spoken
from harness.agents.cascade.endpoint_policies import PauseEvidence
from harness.agents.cascade.hazard import LISTENS_MS
from harness.agents.cascade.holding_cues import HEARD_SAMPLES, pooled
from harness.agents.cascade.level_gate import LevelGate
from harness.agents.cascade.moonshine import Moonshine
from harness.agents.cascade.spoken_completeness import WEIGHTS
from harness.agents.cascade.turn_text import TurnText
from harness.agents.cascade.turn_tracker import WINDOW_SAMPLES, SpeechEvent, TurnTracker
from harness.agents.cascade.voice_edge import voice_edge
from harness.audio.conditions import parse_condition
from harness.audio.level import last_sample
from harness.audio.speech import RenderedTurn
from harness.scenarios.context import Context, Turn

RATE_HZ = 16_000
_LEAD_SAMPLES = RATE_HZ // 2
_TAIL_SAMPLES = 2 * RATE_HZ
_EAGER_SAMPLES = RATE_HZ // 10
"""Shorter silences (a closed mouth between two sounds) end no turn under any policy, and the agent lets them pass too."""
_LISTENS_SAMPLES = round(LISTENS_MS / 1000 * RATE_HZ)
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
    states: NDArray[np.float16]
    """The recogniser's own states around the silence's beginning, pooled (`harness.agents.cascade.holding_cues`)."""
    spoken_until: int
    """The silence's beginning as the agent counts it (`harness.agents.cascade.voice_edge`)."""


async def observe(
    out: Path, packs: Sequence[str], turns: str, limit: int | None, conditions: Sequence[str], weights: Path, llm: bool = True
) -> None:
    """Listen to every turn as the agent would, and write each pause with everybody's opinion of it."""
    from harness.agents.llm_server import LlmServer, ServerOptions
    from harness.models.store import resolve
    from harness.scenarios.pack import load_pack
    from harness.voices.choice import open_voices

    moonshine = Moonshine(str(resolve("moonshine-tiny.en")))
    # One thread: this is no measurement of speed, and one does not stall beside other work.
    server = LlmServer(ServerOptions(str(resolve("smollm2-135m")), threads=1, prompt_threads=1)) if llm else None
    if server is not None:
        await server.start()
    try:
        ask = Opinions(server.url if server else None, weights)
        # One row of states for each line, so that a run that is ended early loses nothing.
        with out.open("w", encoding="utf-8") as file, out.with_suffix(".f16").open("wb") as states:
            for name in packs:
                voices = open_voices(load_pack(name))
                contexts = voices.pack.contexts[:limit]
                wanted = [(c, k, voices.wish_of(c)) for c in contexts for k in _indices(c, turns)]
                voices.prepare([(c.turns[k], wish) for c, k, wish in wanted], lambda: None)
                for number, (context, k, wish) in enumerate(wanted):
                    rendered = voices.render(context.turns[k], wish)
                    for condition in conditions:
                        track, at = _track(rendered, condition, number)
                        silences = list(listen(track, moonshine))
                        said = Said(context, k, wish, condition, track, at, rendered)
                        for seen in await ask.about(said, silences):
                            file.write(json.dumps(asdict(seen)) + "\n")
                        file.flush()
                        states.writelines(silence.states.tobytes() for silence in silences)
                        states.flush()
                    print(f"{name}: {number + 1} of {len(wanted)}", file=sys.stderr, flush=True)
    finally:
        if server is not None:
            await server.stop()


def _indices(context: Context, turns: str) -> list[int]:
    seekers = [k for k, turn in enumerate(context.turns) if turn.role == "seeker"]
    last = seekers[-1]
    return {"last": [last], "earlier": [k for k in seekers if k != last], "all": seekers}[turns]


def _track(rendered: RenderedTurn, condition: str, seed: int) -> tuple[NDArray[np.float32], int]:
    """The turn with lead-in and tail as it reaches an agent, and the sample at which its speech ends."""
    from harness.audio.pcm import resample

    dry = resample(rendered.samples, rendered.rate_hz, RATE_HZ)
    last = last_sample(dry, RATE_HZ)
    ends = _LEAD_SAMPLES + (len(dry) if last is None else last + 1)
    whole = np.concatenate([np.zeros(_LEAD_SAMPLES, np.int16), dry, np.zeros(_TAIL_SAMPLES, np.int16)])
    heard = parse_condition(condition).apply(whole, RATE_HZ, seed)
    return np.asarray(heard[: whole.size].astype(np.float32) / 32768, np.float32), ends


@dataclass(frozen=True, slots=True)
class Said:
    """A spoken turn as it reached an agent. `ends_at` is the sample of `track` at which its speech ends."""

    context: Context
    turn: int
    voice: str
    condition: str
    track: NDArray[np.float32]
    ends_at: int
    rendered: RenderedTurn

    @property
    def marks(self) -> list[tuple[int, int]]:
        """The marked pauses, in samples of the track."""
        ratio = RATE_HZ / self.rendered.rate_hz
        return [(round(a * ratio) + _LEAD_SAMPLES, round(b * ratio) + _LEAD_SAMPLES) for a, b in self.rendered.pauses]


class Opinions:
    """What each scorer says of a silence."""

    def __init__(self, url: str | None, weights: Path) -> None:
        from harness.agents.cascade.turn_scorers import LastWordScorer, SmartTurnScorer

        self._url, self._weights = url, weights
        self._smart, self._word = SmartTurnScorer(), LastWordScorer()

    async def about(self, said: Said, silences: Sequence[Silence]) -> list[SeenPause]:
        """One row for each silence, in their order."""
        from harness.agents.cascade.llama_prompt import LlamaPrompt
        from harness.agents.cascade.prompt import system_instruction
        from harness.agents.cascade.settings import ReplySettings

        prompt = None if self._url is None else LlamaPrompt(self._url, system_instruction(ReplySettings()))
        history = [_message(turn) for turn in said.context.turns[: said.turn]]
        found = []
        try:
            for silence in silences:
                scores: dict[str, float] = {}
                if silence.end - silence.begin >= _OPINION_SAMPLES:
                    listened = PauseEvidence(silence.text, said.track[: silence.begin + _LISTENS_SAMPLES])
                    scores = {
                        "smart-turn": await self._smart.probability_complete(listened),
                        "last-word": await self._word.probability_complete(listened),
                        "spoken": spoken(silence.text, self._weights),
                    }
                    if prompt is not None:
                        scores["llm"] = await prompt.probability_complete(history, silence.text)
                found.append(_row(said, silence, scores))
        finally:
            if prompt is not None:
                await prompt.close()
        return found


def _row(said: Said, silence: Silence, scores: dict[str, float]) -> SeenPause:
    ends = zip(said.marks, said.rendered.ends, strict=False)
    met = [(b - a, end) for (a, b), end in ends if a < silence.end and b > silence.begin]
    marked = max(met, key=lambda each: each[0]) if met else None
    last = said.rendered.ends[-1:] if marked is None else [marked[1]]

    def ms(samples: int) -> float:
        return round(samples / RATE_HZ * 1000, 1)

    return SeenPause(
        context=said.context.id,
        turn=said.turn,
        voice=said.voice,
        condition=said.condition,
        start_ms=ms(silence.spoken_until - said.ends_at),
        length_ms=ms(silence.end - silence.spoken_until) if silence.resumed else None,
        marked_ms=None if marked is None else ms(marked[0]),
        kind="unmarked" if marked is None else marked[1].kind,
        text=silence.text,
        spoke_ms=ms(silence.begin - silence.heard_from),
        scores=scores,
        cues=tuple(cue for end in last for cue in end.cues),
    )


def _message(turn: Turn) -> dict[str, str]:
    return {"role": {"seeker": "user", "supporter": "assistant"}[turn.role], "content": turn.plain}


def listen(signal: NDArray[np.float32], moonshine: Moonshine) -> Iterator[Silence]:
    """Each silence of a turn, with the words before it and the recogniser's states.

    Long turns are transcribed in pieces, frozen at pauses, as the live service does where it finds one.
    """
    from pipecat.audio.vad.silero import SileroVADAnalyzer

    from harness.agents.cascade import streaming_stt as live

    vad = SileroVADAnalyzer(sample_rate=RATE_HZ)
    vad.set_sample_rate(RATE_HZ)
    tracker, gate = TurnTracker(0.5), LevelGate()
    turn = TurnText.heard_by(moonshine, 0)
    pcm = (np.clip(signal, -1, 1) * 32767).astype(np.int16)

    def words_until(silence_start: int) -> str:
        samples = signal[turn.piece_start : silence_start + live.TAIL_SAMPLES]
        heard = moonshine.transcribe(samples, live.least_words(turn.piece_words), turn.known)
        turn.heard_piece(len(heard.text.split()), heard.tokens, moonshine.agreed)
        return heard.text

    def silent(begin: int, end: int, resumed: bool, piece: str) -> Silence:
        until = begin + _LISTENS_SAMPLES
        states = pooled(moonshine.states(signal[max(0, until - HEARD_SAMPLES) : until])).astype(np.float16)
        edge = voice_edge(signal[max(0, until - live.LISTENED_SAMPLES) : until], until - begin)
        spoken_until = begin if edge is None else until - edge.silent_samples
        return Silence(begin, end, resumed, turn.with_piece(piece), tracker.speech_start, states, spoken_until)

    while tracker.position + WINDOW_SAMPLES <= len(pcm):
        window = pcm[tracker.position : tracker.position + WINDOW_SAMPLES]
        probability = float(np.squeeze(vad.voice_confidence(window.tobytes())))
        event = tracker.push(probability if gate.push(window) else 0.0)
        if event is SpeechEvent.STARTED:
            turn = TurnText.heard_by(moonshine, max(0, tracker.speech_start - live.LEAD_IN_SAMPLES))
        elif event is SpeechEvent.RESUMED:
            silence, resumed_at = tracker.silence_start, tracker.position - 2 * WINDOW_SAMPLES
            if resumed_at - silence < _EAGER_SAMPLES:
                continue
            piece = words_until(silence)
            yield silent(silence, resumed_at, True, piece)
            if turn.freeze(piece, silence, max(silence, resumed_at - live.LEAD_IN_SAMPLES)):
                least = live.least_words(turn.stretch_words)
                again = moonshine.transcribe(signal[turn.stretch_start : silence + live.TAIL_SAMPLES], least).text
                if len(again.split()) >= least:
                    turn.heard_again(again)
    if tracker.pausing:
        piece = words_until(tracker.silence_start)
        yield silent(tracker.silence_start, tracker.position, False, piece)


def main() -> None:
    parser = argparse.ArgumentParser(description="Observe the pauses of spoken turns as an agent would.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--packs", default="heart-open")
    parser.add_argument("--turns", choices=("last", "earlier", "all"), default="last")
    parser.add_argument("--limit", type=int, help="contexts of each pack")
    parser.add_argument("--conditions", default="clean")
    parser.add_argument("--spoken", type=Path, help="weights of spoken_completeness that these callers took no part in")
    parser.add_argument("--without-llm", action="store_true", help="leave the language model out: half of the time")
    given = parser.parse_args()
    packs, conditions = given.packs.split(","), given.conditions.split(",")
    asyncio.run(observe(given.out, packs, given.turns, given.limit, conditions, given.spoken or WEIGHTS, not given.without_llm))


if __name__ == "__main__":
    main()

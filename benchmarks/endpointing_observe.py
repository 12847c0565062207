"""What an agent sees of spoken turns: every silence, how it looked to each scorer, and whether the caller went on.

    python -m benchmarks.endpointing_observe seen.jsonl      # a quarter of an hour: renders, listens, transcribes, scores

Each pause is observed once, with the very parts that the agent uses (silero, the level gate, the turn tracker, short-window
Whisper, the scorers), so that any number of policies can be worked out on it afterwards (`benchmarks.endpointing`).
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.cascade.endpoint_policies import PauseEvidence
from agents.cascade.level_gate import LevelGate
from agents.cascade.turn_text import TurnText
from agents.cascade.turn_tracker import WINDOW_SAMPLES, SpeechEvent, TurnTracker
from audio.level import last_sample
from benchmarks.endpointing import SeenPause

RATE_HZ = 16_000
_LEAD_SAMPLES = RATE_HZ // 2
_TAIL_SAMPLES = 2 * RATE_HZ
_EAGER_SAMPLES = RATE_HZ // 10
"""Shorter silences (a closed mouth between two sounds) end no turn under any policy, and the agent lets them pass too."""
_TALKERS = 6
BABBLE_SNR_DB = 10.0


async def observe(out: Path, pack: str, voices: Sequence[str], limit: int | None, degraded: int) -> None:
    """Listen to every turn as the agent would, and write each pause with everybody's opinion of it."""
    from agents.cascade.llama_prompt import LlamaPrompt
    from agents.cascade.prompt import system_instruction
    from agents.cascade.settings import ReplySettings, StreamingWhisper
    from agents.cascade.short_context_whisper import ShortContextWhisper
    from agents.cascade.turn_scorers import LastWordScorer, SmartTurnScorer
    from agents.llm_server import LlmServer, ServerOptions
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
                    conditions = ["clean"] if number >= degraded or voice != voices[0] else ["clean", "babble", "telephone"]
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
                            spoken_end = _LEAD_SAMPLES + spoken_samples(dry)
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


def spoken_samples(dry: NDArray[np.float32]) -> int:
    """How much of a turn is speech, by the same edge from which latency is counted: a rendering ends in silence."""
    last = last_sample(np.round(dry * 32767).astype(np.int16), RATE_HZ)
    return len(dry) if last is None else last + 1


def listen(signal: NDArray[np.float32], whisper: Any) -> Iterator[tuple[int, int, bool, tuple[NDArray[np.float32], str]]]:
    """Each silence of a turn: its bounds in samples, whether speech resumed, and (audio, text) of the words before it.

    Long turns are transcribed in pieces, frozen at pauses, exactly as the live service does.
    """
    from pipecat.audio.vad.silero import SileroVADAnalyzer

    from agents.cascade import streaming_whisper as live

    vad = SileroVADAnalyzer(sample_rate=RATE_HZ)
    vad.set_sample_rate(RATE_HZ)
    tracker, gate = TurnTracker(0.5), LevelGate()
    turn = TurnText(0)
    pcm = (np.clip(signal, -1, 1) * 32767).astype(np.int16)

    def words_until(silence_start: int) -> tuple[NDArray[np.float32], str]:
        samples = signal[turn.piece_start : silence_start + live.TAIL_SAMPLES]
        piece = whisper.transcribe(samples, live.least_words(turn.piece_words)).text
        turn.heard_piece(len(piece.split()))
        return samples, piece

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
            samples, piece = words_until(silence)
            yield silence, resumed_at, True, (samples, turn.with_piece(piece))
            if turn.freeze(piece, silence, max(silence, resumed_at - live.LEAD_IN_SAMPLES)):
                least = live.least_words(turn.stretch_words)
                again = whisper.transcribe(signal[turn.stretch_start : silence + live.TAIL_SAMPLES], least).text
                if len(again.split()) >= least:
                    turn.heard_again(again)
    if tracker.pausing:
        samples, piece = words_until(tracker.silence_start)
        yield tracker.silence_start, tracker.position, False, (samples, turn.with_piece(piece))


def degrade(dry: NDArray[np.float32], condition: str, babble: NDArray[np.float32]) -> NDArray[np.float32]:
    """The turn with lead-in and tail, as it reaches an agent: clean, among talkers at 10 dB, or over a telephone line."""
    from audio.pcm import decode, encode, resample

    track = np.concatenate([np.zeros(_LEAD_SAMPLES), dry, np.zeros(_TAIL_SAMPLES)]).astype(np.float32)
    if condition == "babble":
        talkers = np.sum([np.resize(np.roll(babble, k * 37_000), track.size) for k in range(_TALKERS)], axis=0)
        speech_power = np.mean(np.square(dry[np.abs(dry) > 0.005]))
        gain = np.sqrt(speech_power / np.mean(np.square(talkers)) / 10 ** (BABBLE_SNR_DB / 10))
        track = track + np.float32(gain) * talkers.astype(np.float32)
    if condition == "telephone":
        narrow = resample((np.clip(track, -1, 1) * 32767).astype(np.int16), RATE_HZ, 8_000)
        back = resample(decode(encode(narrow, "ulaw"), "ulaw"), 8_000, RATE_HZ)
        track = (np.resize(back, track.size) / 32768).astype(np.float32)
    return np.asarray(track, np.float32)


def _marked_ms(begin: int, end: int, marks: Sequence[tuple[int, int]]) -> float | None:
    """Length of the marked pause that a silence overlaps, if it does."""
    found = [(b - a) for a, b in marks if a < end and b > begin]
    return None if not found else round(max(found) / RATE_HZ * 1000, 1)


def main() -> None:
    parser = argparse.ArgumentParser(description="Observe the pauses of spoken turns as an agent would.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--pack", default="heart-open")
    parser.add_argument("--voices", default="joe,jo")
    parser.add_argument("--limit", type=int, help="contexts")
    parser.add_argument("--degraded", type=int, default=30, help="contexts that are also played degraded")
    given = parser.parse_args()
    asyncio.run(observe(given.out, given.pack, given.voices.split(","), given.limit, given.degraded))


if __name__ == "__main__":
    main()

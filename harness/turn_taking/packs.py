"""A pack's callers as an agent hears them: cues for the end of a turn in their sound, and smart-turn's results.

Each silence is judged only by the sound before it, as an agent must. Pitch and level are compared with the speaker's own
just before, so that a low voice is no cue. Smart-turn v3.2 is an independent detector, trained on people: where it finds no
end, a pack's callers do not sound like people, and the pack makes an agent that uses intonation slower.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.audio.pcm import to_float
from harness.audio.prosody import f0_track
from harness.audio.speech import RenderedTurn
from harness.errors import UserError
from harness.installation import install_command
from harness.scenarios.pack import Pack
from harness.scenarios.turn_ends import Instant, instants
from harness.turn_taking.scores import Heard, TurnTaking, summarised
from harness.voices.choice import Voices

INTO_SILENCE_S: Final = 0.2
"""Smart-turn is asked at the same time as by VADs: pipecat's own waits for 200 ms of silence."""
HEARD_S: Final = 8.0
"""Smart-turn uses the last eight seconds."""
LAST_S: Final = 0.2
"""The last voiced stretch of a phrase: about one stressed syllable, where a final fall happens."""
BEFORE_S: Final = 1.5
"""The end of a phrase is compared with the speaker's own voice just before."""
Finished = Callable[[NDArray[np.float32]], float]
"""Probability that a turn is finished, from mono float audio at 16 kHz that ends in silence."""


def listen_for_ends(
    pack: Pack,
    voices: Voices,
    finished: Finished,
    *,
    every_turn: bool = False,
    phase: Callable[[str, int], None] = lambda _what, _steps: None,
    step: Callable[[str], None] = lambda _line: None,
) -> TurnTaking:
    """Render a pack's callers, and measure every end and every marked pause. `phase` announces a number of steps, `step` each
    step.

    Raises `harness.errors.UserError` for a pack of recordings alone, one without a marked pause, and one that cannot be
    rendered.
    """
    found = instants(pack.contexts, every_turn=every_turn)
    chosen = [
        (c, k, turn)
        for c in pack.contexts
        for k, turn in enumerate(c.turns)
        if turn.role == "seeker" and (every_turn or turn is c.spoken)
    ]
    spoken = [row for row in chosen if row[2].audio is None]
    if not spoken:
        raise UserError(
            f"{pack.name}: its callers are recordings, and --turn-taking reads pauses from texts; give a pack with texts"
        )
    if all(instant.kind == "end" for instant in found):
        raise UserError(
            f"{pack.name}: no pause is marked in the turns that are spoken, so ends cannot be compared with pauses; "
            f"`harness scenarios build pack {pack.name} --out FILE` marks people's pauses"
        )
    phase("Rendering the callers", len(spoken))
    voices.prepare([(turn, voices.wish_of(c)) for c, _, turn in spoken], lambda: step("rendered"))
    of_turn: dict[tuple[str, int], list[Instant]] = defaultdict(list)
    for instant in found:
        of_turn[instant.context, instant.turn].append(instant)
    phase("Listening for their ends", len(spoken))
    heard: list[Heard] = []
    for context, k, turn in spoken:
        heard += hear(voices.render(turn, voices.wish_of(context)), of_turn[context.id, k], finished)
        step(f"{context.id}: {len(of_turn[context.id, k])} silences")
    return summarised(heard, every_turn=every_turn, recordings=len(chosen) - len(spoken))


def hear(rendered: RenderedTurn, found: Sequence[Instant], finished: Finished) -> list[Heard]:
    """The instants of one turn with their sound; `found` are its pauses in order, and then its end."""
    signal = to_float(rendered.samples)
    track = f0_track(signal, rendered.rate_hz)
    at = [start for start, _ in rendered.pauses] + [signal.size]
    before = [0] + [end for _, end in rendered.pauses]
    if len(at) != len(found):
        raise UserError(f"{found[0].context}: {len(found) - 1} pauses are marked, {len(at) - 1} are in the sound")
    return [
        Heard(
            instant,
            stop / rendered.rate_hz,
            *_falls(signal, track, rendered.rate_hz, start, stop),
            finished(_with_silence(signal[:stop], rendered.rate_hz)),
        )
        for instant, start, stop in zip(found, before, at, strict=True)
    ]


def _with_silence(signal: NDArray[np.float32], rate_hz: int) -> NDArray[np.float32]:
    whole = np.concatenate([signal, np.zeros(round(INTO_SILENCE_S * rate_hz), np.float32)])
    return whole[-round(HEARD_S * rate_hz) :].astype(np.float32)


def _falls(
    signal: NDArray[np.float32], track: NDArray[np.float64], rate_hz: int, start: int, stop: int
) -> tuple[float | None, float | None]:
    """Fall of pitch (semitones) and level (dB) of the last voiced 200 ms below the 1.5 s before, within one stretch of
    speech."""
    step = signal.size / max(len(track), 1)
    first, last = int(start / step), int(stop / step)
    voiced = np.flatnonzero(track[first:last] > 0) + first
    tail, body = round(LAST_S * rate_hz / step), round(BEFORE_S * rate_hz / step)
    if voiced.size < 2 * tail:
        return None, None
    ends, earlier = voiced[-tail:], voiced[-tail - body : -tail]
    pitch = 12 * float(np.median(np.log2(track[earlier])) - np.median(np.log2(track[ends])))
    return pitch, _level_db(signal, earlier, step) - _level_db(signal, ends, step)


def _level_db(signal: NDArray[np.float32], frames: NDArray[np.intp], step: float) -> float:
    power = [np.mean(np.square(signal[int(k * step) : int((k + 1) * step)], dtype=float)) for k in frames]
    return float(10 * np.log10(max(float(np.mean(power)), 1e-12)))


def smart_turn() -> Finished:
    """Smart-turn v3.2 as in pipecat, on one thread.

    Raises `harness.errors.UserError` where its packages are missing.
    """
    try:
        from loguru import logger
        from pipecat.audio.turn.smart_turn.local_smart_turn_v3 import LocalSmartTurnAnalyzerV3
    except ImportError as error:
        raise UserError(f"smart-turn cannot be loaded ({error}); {install_command('local')}") from error
    logger.disable("pipecat.audio.turn")
    analyser = LocalSmartTurnAnalyzerV3(cpu_count=1)

    def probability(audio: NDArray[np.float32]) -> float:
        return float(analyser._predict_endpoint(audio)["probability"])

    return probability

"""The analyser against recordings with known answers, over everything that makes an onset hard to see.

Each trial is a whole recording (caller, playout, arrivals) with a reply whose dry onset is known to the sample; the error
is the measured TTFA minus the true one. Conditions are grouped by what the analyser promises for them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import soxr
from numpy.typing import NDArray

from benchmarks.made_recordings import AGENT_HZ, Said, make_recording, onset_ms, silence, voice
from benchmarks.made_sounds import breath, through_mu_law
from harness.calibrate.voice import Colour, attack, coloured_noise
from harness.timing import measure

Group = Literal["clean", "degraded", "hard"]
SPEECH_DB: Final = -20.0
HARD_SNR_DB: Final = 10.0
HARD_ATTACK_S: Final = 0.020
BREATHY_S: Final = 0.12


@dataclass(frozen=True, slots=True)
class Condition:
    """How a reply is made hard to see."""

    name: str
    attack_s: float = 0.0
    snr_db: float | None = None
    colour: Colour = "white"
    mu_law: bool = False
    click: bool = False
    breathy: bool = False
    """Begins as an /h/ does: air that swells for 60 ms and turns into voice."""
    breath_db: float | None = None
    """A breath before the first word, its loudest part so far below the speech; the onset is the word's."""

    @property
    def group(self) -> Group:
        """Clean; degraded (attacks up to 20 ms and more than 10 dB of signal to noise); or hard."""
        if (
            self.attack_s > HARD_ATTACK_S
            or self.breath_db is not None
            or (self.snr_db is not None and self.snr_db <= HARD_SNR_DB)
        ):
            return "hard"
        return "degraded" if self.snr_db is not None or self.mu_law or self.click else "clean"


CONDITIONS: Final[Sequence[Condition]] = (
    Condition("clean, abrupt"),
    Condition("clean, 5 ms attack", 0.005),
    Condition("clean, 20 ms attack", 0.020),
    Condition("20 dB white, abrupt", 0.0, 20),
    Condition("20 dB white, 10 ms attack", 0.010, 20),
    Condition("20 dB pink, 20 ms attack", 0.020, 20, "pink"),
    Condition("12 dB white, 10 ms attack", 0.010, 12),
    Condition("12 dB pink, 10 ms attack", 0.010, 12, "pink"),
    Condition("μ-law 8 kHz, 10 ms attack", 0.010, mu_law=True),
    Condition("a click before, 10 ms attack", 0.010, click=True),
    Condition("clean, 100 ms attack", 0.100),
    Condition("20 dB white, 50 ms attack", 0.050, 20),
    Condition("10 dB white, 10 ms attack", 0.010, 10),
    Condition("10 dB pink, 20 ms attack", 0.020, 10, "pink"),
    Condition("a breathy beginning", breathy=True),
    Condition("a loud breath before the word", 0.010, breath_db=-12),
    Condition("a soft breath before the word", 0.010, breath_db=-24),
    Condition("5 dB white, 10 ms attack", 0.010, 5),
    Condition("5 dB pink, 5 ms attack", 0.005, 5, "pink"),
    Condition("30 dB pink, 10 ms attack", 0.010, 30, "pink"),
    Condition("36 dB white, 10 ms attack", 0.010, 36),
    Condition("40 dB pink, 10 ms attack", 0.010, 40, "pink"),
)


@dataclass(frozen=True, slots=True)
class Trial:
    """One reply: the error in ms, or why there is none."""

    condition: Condition
    error_ms: float | None
    discarded: str | None
    missed: bool


@dataclass(frozen=True, slots=True)
class ErrorFigures:
    """The error over trials. `discarded` is a share."""

    trials: int
    bias_ms: float
    p50_ms: float
    p95_ms: float
    max_ms: float
    discarded: float
    missed: int


def run_suite(trials: int, seed: int = 1, conditions: Sequence[Condition] = CONDITIONS) -> Iterator[Trial]:
    """`trials` replies of every condition, at random delays, pitches and leading silences."""
    for condition in conditions:
        for k in range(trials):
            yield _trial(condition, np.random.default_rng([seed, k, len(condition.name)]), seed + k)


def figures(trials: Sequence[Trial]) -> ErrorFigures:
    """Bias, absolute percentiles and the share that was discarded."""
    errors = np.array([t.error_ms for t in trials if t.error_ms is not None])
    size = np.abs(errors)
    return ErrorFigures(
        trials=len(trials),
        bias_ms=float(errors.mean()),
        p50_ms=float(np.percentile(size, 50)),
        p95_ms=float(np.percentile(size, 95)),
        max_ms=float(size.max()),
        discarded=sum(t.discarded is not None for t in trials) / len(trials),
        missed=sum(t.missed for t in trials),
    )


def _trial(condition: Condition, rng: np.random.Generator, seed: int) -> Trial:
    speech = voice(1.5, seed, SPEECH_DB, condition.attack_s, float(rng.uniform(95, 205)))
    if condition.breathy:
        voiced = attack(len(speech), BREATHY_S, AGENT_HZ)
        air = coloured_noise(len(speech), SPEECH_DB - 12, rng, "pink") * attack(len(speech), BREATHY_S / 2, AGENT_HZ)
        speech = speech * voiced + air * (1 - voiced)
    lead = silence(float(rng.uniform(0.05, 0.4)))
    before = np.concatenate([lead, *_drawn_breath(condition, rng)])
    dry = np.concatenate([before, speech])
    delay_s = float(rng.uniform(0.1, 1.2))
    timing = measure(make_recording(Said(delay_s, _degraded(dry, condition, rng))).recording)
    truth_ms = delay_s * 1000 + len(before) / AGENT_HZ * 1000 + onset_ms(speech)
    error = None if timing.ttfa_ms is None else timing.ttfa_ms - truth_ms
    missed = timing.discarded is None and timing.ttfa_ms is None
    return Trial(condition, error, timing.discarded, missed)


def _drawn_breath(condition: Condition, rng: np.random.Generator) -> tuple[NDArray[np.float64], ...]:
    if condition.breath_db is None:
        return ()
    air = breath(float(rng.uniform(0.2, 0.5)), SPEECH_DB + condition.breath_db, AGENT_HZ, rng)
    return air, silence(float(rng.uniform(0.05, 0.3)))


def _degraded(dry: NDArray[np.float64], condition: Condition, rng: np.random.Generator) -> NDArray[np.float64]:
    sound = dry.copy()
    if condition.snr_db is not None:
        sound += coloured_noise(len(sound), SPEECH_DB - condition.snr_db, rng, condition.colour)
    if condition.click:
        length = round(0.004 * AGENT_HZ)
        sound[:length] += coloured_noise(length, -15, rng)
    if condition.mu_law:
        narrow = through_mu_law(soxr.resample(sound, AGENT_HZ, 8_000, quality="VHQ"))
        sound = soxr.resample(narrow, 8_000, AGENT_HZ, quality="VHQ")[: len(sound)]
    return sound

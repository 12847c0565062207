"""Stereo recordings of known behaviours, with the truth of every turn beside them.

Tools that read recordings never meet a live agent, so they get the same table of behaviours as sound: caller left, agent right,
on one clock. The truth is the sample at which each sound was placed, before leak, noise and line, so no detector has a part in
it. A caller's turn is cut at its spoken end: whatever rule a tool ends a turn by, there is one answer. Each behaviour comes in
two conditions, which change with the seed, because all of all would be 150 calls; in five seeds each has met each twice.
"""

import csv
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.audio.conditions.line import OnLine, telephone
from harness.audio.level import block_power
from harness.audio.pcm import Int16, to_float, to_int16
from harness.audio.sound_file import flac
from harness.calibrate.voice import coloured_noise
from harness.known.behaviours import BEHAVIOURS, FIXED_MS, GAP_AT_MS, Behaviour, behaviour
from harness.known.conduct import BED_DB, ECHO_GAIN, ECHO_MS
from harness.known.sounds import LEVEL_DB, Sound, count, dc, noise, sound
from harness.known.truth import TurnTruth, write_truth

RATE_HZ: Final = 16_000
MS: Final = RATE_HZ // 1_000
LIVE_ONLY: Final = ("fixed", "at-once", "stall", *(each.name for each in BEHAVIOURS.values() if each.mistake))
"""A recording has no messages, so none that come at once or late; `fixed` comes with each of its delays."""
ROWS: Final = (*(f"fixed-{ms}" for ms in FIXED_MS), *(name for name in BEHAVIOURS if name not in LIVE_ONLY))
CONDITIONS: Final = ("clean", "telephone", "noisy", "cross-talk", "telephone-noisy")
QUIET: Final = ("clean", "telephone", "cross-talk")
WIDE: Final = ("clean", "cross-talk")
DROWNS: Final = ("breath",)
"""In the noise of these conditions nobody would hear it, and a truth that nobody hears is none."""
FAINT: Final = ("answer", 1)
"""Its first sound, an /f/, lies above a telephone's band and under a noise 20 dB below its voice, so there it has no onset."""
NOISE_DB: Final = LEVEL_DB - 20.0
LEAK_DB: Final = -35.0
BLOCK: Final = 5 * MS
EDGE: Final = 10 ** (-20 / 10)
"""A caller's turn is cut after its last 5 ms within 20 dB of the loudest. Voices fade for 80 ms more, in which each tool ends a
turn by a rule of its own, and which a telephone's noise hides: nobody would be right."""
PAUSE_S: Final = 1.0
"""Silence between two sentences of a turn: long enough for an agent that waits 300 ms, and no end of it."""
QUIET_S: Final = 1.0
UNANSWERED_S: Final = 7.0
"""Silence after a turn that is not answered: longer than any pause that a tool may wait through."""
LOUD_DB: Final = 8.0
INTERRUPTED_S: Final = (1.2, 2.0)
"""Where in a long answer the caller interrupts it."""


@dataclass(frozen=True, slots=True)
class KnownCall:
    """One recording: int16 of two columns, caller and agent, and its true figures."""

    name: str
    samples: Int16
    truths: tuple[TurnTruth, ...]


def write_calls(
    folder: Path,
    seed: int = 1,
    progress: Callable[[str], None] = lambda _: None,
    plan: Sequence[tuple[str, str]] | None = None,
) -> int:
    """Write recordings, `truth.csv`, and `calls.csv` for `harness measure`; returns the number of calls.

    `plan`: the behaviour and condition of each; None: as `planned`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    truths: list[TurnTruth] = []
    files: list[tuple[str, str]] = [("file", "caller")]
    for call in known_calls(seed, plan):
        (folder / f"{call.name}.flac").write_bytes(flac(call.samples, RATE_HZ))
        truths += call.truths
        files.append((f"{call.name}.flac", "left"))
        progress(call.name)
    write_truth(folder / "truth.csv", truths)
    with (folder / "calls.csv").open("w", newline="", encoding="utf-8") as table:
        csv.writer(table).writerows(files)
    return len(files) - 1


def planned(seed: int) -> list[tuple[str, str]]:
    """Behaviour and condition of every call: each behaviour in two conditions."""
    return [(row, _conditions(row)[(k + 2 * again + seed) % len(_conditions(row))])
            for again in range(2) for k, row in enumerate(ROWS)]  # fmt: skip


def _conditions(row: str) -> Sequence[str]:
    return QUIET if row in DROWNS else CONDITIONS


def known_calls(seed: int = 1, plan: Sequence[tuple[str, str]] | None = None) -> Iterator[KnownCall]:
    """The recordings of a plan, or of all of `planned`."""
    for number, (row, condition) in enumerate(plan or planned(seed)):
        known = behaviour(row)
        assert known is not None
        yield _Made(row, known, condition, seed, seed + 2 * number).call()


@dataclass(slots=True)
class _Made:
    """A call as it is put together; times are samples. `voice`: the number of its first voice among those of a name."""

    row: str
    known: Behaviour
    condition: str
    seed: int
    voice: int
    caller: list[tuple[int, Int16]] = field(default_factory=list)
    agent: list[tuple[int, Int16]] = field(default_factory=list)
    truths: list[TurnTruth] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{self.row}-{self.condition}"

    def call(self) -> KnownCall:
        rng = np.random.default_rng([self.seed, zlib.crc32(self.name.encode())])
        at = round(rng.uniform(0.7, 1.2) * RATE_HZ)
        for part in self.known.parts:
            if part.anchor == "open":
                at += self._say(sound(part.sound, RATE_HZ, self.seed), round(self.known.at_ms(part) * MS))
        yields_ms = self.known.yields_ms
        turns = 1 if self.known.hangs_up_ms is not None else 2
        for turn in range(turns):
            over = self._turn(turn, at, yields_ms if turn else None)
            if any(part.sound == "long" for part in self.known.parts):
                at = self._interrupted(turn, rng)
                over = max(over, at)
            if yields_ms is None:
                at = over + round(rng.uniform(0.8, 1.3) * RATE_HZ)
        if yields_ms is not None:
            self._turn(turns, at, yields_ms)
        return KnownCall(self.name, _recorded(self, rng), tuple(self.truths))

    def _turn(self, turn: int, begin: int, yield_ms: float | None) -> int:
        """Lay out a turn of the caller and what answers it; returns where both are over."""
        said = [_caller(self.voice + turn)]
        if any(part.anchor == "pause" for part in self.known.parts):
            said += [np.zeros(round(PAUSE_S * RATE_HZ), np.int16), _caller(self.voice + turn + 1)]
        end = begin + sum(map(len, said))
        self.caller.append((begin, np.concatenate(said)))
        anchors = {"end": end, "begin": begin, "pause": begin + len(said[0])}
        over, onsets = end, []
        for part in (part for part in self.known.parts if part.anchor != "open"):
            found = sound(part.sound, RATE_HZ, self._voice(part.sound, turn))
            onset = anchors[part.anchor] + round(self.known.at_ms(part) * MS)
            over = max(over, self._say(found, onset))
            onsets.append((found.kind, (onset - end) / MS))

        def first(*kinds: str) -> float | None:
            return min((ms for kind, ms in onsets if kind in kinds and ms >= 0), default=None)

        self.truths.append(TurnTruth(
            self.name, self.row, self.condition, turn + 1, end / RATE_HZ, first("sound", "speech", "answer"),
            first("speech", "answer"), first("answer"), yield_ms, min((ms for _, ms in onsets if ms < 0), default=None),
            self.known.silent_ms + self.known.late_ms or None,
        ))  # fmt: skip
        return over if onsets else over + round(UNANSWERED_S * RATE_HZ)

    def _voice(self, name: str, turn: int) -> int:
        """The number of a turn's voice."""
        voice = self.voice + turn
        drowns = self.condition not in WIDE and name == FAINT[0] and voice % count(name) == FAINT[1]
        return voice + 1 if drowns else voice

    def _say(self, found: Sound, onset: int) -> int:
        """Lay out a sound of the agent; returns where it is over."""
        samples, at = found.samples, round(GAP_AT_MS * MS)
        if found.kind == "answer":
            silent = np.zeros(round((self.known.silent_ms + self.known.late_ms) * MS), np.int16)
            samples = np.concatenate([samples[:at], silent, samples[at:]])
            if self.known.hangs_up_ms is not None:
                samples = samples[: round(self.known.hangs_up_ms * MS)]
        self.agent.append((onset, samples))
        return onset + len(samples)

    def _interrupted(self, turn: int, rng: np.random.Generator) -> int:
        """Interrupt the answer to a turn; returns where the caller begins, or is done where the agent takes no notice."""
        start, samples = self.agent[-1]
        at, stops_ms = round(rng.uniform(*INTERRUPTED_S) * RATE_HZ), self.known.yields_ms
        if stops_ms is None:
            self.caller.append((start + at, said := _caller(self.voice + turn + 2)))
            return start + at + len(said)
        loud = block_power(samples, BLOCK) > 10 ** ((LEVEL_DB - LOUD_DB) / 10)
        stops = round(stops_ms * MS)
        # Both ends fall within a vowel: in a pause the agent would be silent before it yields.
        while not (loud[at // BLOCK] and loud[(at + stops) // BLOCK - 1] and loud[(at + stops) // BLOCK - 2]):
            at += BLOCK
        self.agent[-1] = start, samples[: at + stops]
        return start + at


def _caller(voice: int) -> Int16:
    """A sentence of the caller, from its first sample of speech to its spoken end."""
    samples = sound("caller", RATE_HZ, voice).samples
    power = block_power(samples, BLOCK)
    last = np.flatnonzero(power >= EDGE * np.maximum.accumulate(power))[-1]
    return samples[: (int(last) + 1) * BLOCK]


def _recorded(made: _Made, rng: np.random.Generator) -> Int16:
    """Both sides as they were recorded."""
    over = max(at + len(samples) for at, samples in (*made.caller, *made.agent))
    quiet_s = 0.0 if made.known.hangs_up_ms is not None else QUIET_S if made.agent else UNANSWERED_S
    length = over + round(quiet_s * RATE_HZ)
    caller, agent = _laid(made.caller, length), _laid(made.agent, length)
    agent += _bed(made.known, caller)
    if made.condition == "cross-talk":
        late, gain = int(rng.integers(2, 7)) * MS, 10 ** (LEAK_DB / 20)
        caller, agent = caller + gain * _later(agent, late), agent + gain * _later(caller, late)
    sides: list[NDArray[np.floating]] = [caller, agent]
    if "noisy" in made.condition:
        sides = [side + coloured_noise(length, NOISE_DB, rng, "pink") for side in sides]
    if "telephone" in made.condition:
        sides = [telephone(OnLine(side.astype(np.float32), RATE_HZ, LEVEL_DB, rng), "ulaw") for side in sides]
    return np.stack([to_int16(side) for side in sides], axis=1)


def _laid(sounds: Sequence[tuple[int, Int16]], length: int) -> NDArray[np.float64]:
    side = np.zeros(length)
    for at, samples in sounds:
        side[at : at + len(samples)] += to_float(samples)
    return side


def _bed(known: Behaviour, caller: NDArray[np.float64]) -> NDArray[np.float64]:
    match known.bed:
        case "noise":
            return noise(len(caller) / RATE_HZ, RATE_HZ, BED_DB)
        case "dc":
            return to_float(dc(len(caller))).astype(np.float64)
        case "echo":
            return _later(caller, round(ECHO_MS * MS)) * ECHO_GAIN
    return np.zeros(len(caller))


def _later(side: NDArray[np.float64], samples: int) -> NDArray[np.float64]:
    return np.concatenate([np.zeros(samples), side[:-samples]])

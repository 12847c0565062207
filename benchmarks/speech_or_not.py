"""Speech or not, over voices and sounds of many kinds: `python -m benchmarks.speech_or_not [fit|held]`.

Every item is one sound in silence or noise, run through `find_sounds` as a call's track is. A voice is *found* if a vocal sound
overlaps it; *late* if that begins over 100 ms after it; a sound is *taken* if any of it counts as vocal. Rules were chosen on
the half `fit` and are reported on `held`: other speakers, other texts, other seeds, other pieces of music.

Voices come from what is installed: the harness's own (hibari, Piper), `flite` and `espeak-ng`, and people: the prompts of
Debian's `asterisk-core-sounds-{en,es,fr,it,ru}-wav` (recorded, CC BY-SA, 8 kHz). Music on hold is of
`asterisk-moh-opsound-wav`, earcons of `sound-theme-freedesktop`. Whispers, breathy and monotone voices are these voices
through WORLD. A source that is missing is left out.
"""

import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray
from scipy.signal import butter, chirp, lfilter, sosfilt

from benchmarks.made_sounds import breath, music, through_mu_law
from harness.audio.level import first_sample, last_sample, speech_power
from harness.audio.prosody import Prosody, Speaker
from harness.audio.speech_floor import Ending, Stretch
from harness.audio.synthesis import PiperSynthesiser
from harness.audio.synthesis_hibari import HibariSynthesiser
from harness.audio.vocal import silero
from harness.calibrate.voice import Colour, coloured_noise
from harness.models.store import resolve
from harness.recording.playout import HEARD_RATE_HZ, HeardTrack
from harness.timing.utterances import find_sounds

Half = Literal["fit", "held"]
Floats = NDArray[np.float64]
PEOPLE: Final = Path("/usr/share/asterisk/sounds")
HOLD: Final = Path("/usr/share/asterisk/moh")
EARCONS: Final = Path("/usr/share/sounds/freedesktop/stereo")
LEAD_S: Final = 0.8
LATE_S: Final = 0.1
LEAST_S: Final = 0.3
MOST_S: Final = 4.0
"""Prompts of people within these lengths take part."""
TEXTS: Final[dict[Half, tuple[str, ...]]] = {
    "fit": (
        "Mm.", "Yes.", "Okay, I see.", "Take your time.", "Thank you for calling.", "She sells sea shells.",
        "Well, what happened after your manager said that?", "I am sorry that you had to wait for so long.",
    ),
    "held": (
        "Mhm.", "No.", "Right, of course.", "Please go on.", "How can I help you?", "Five fresh fish are for the chef.",
        "That sounds like a very lonely evening for you.", "Could you tell me the number on the letter?",
    ),
}  # fmt: skip
FOREIGN: Final[dict[Half, dict[str, tuple[str, ...]]]] = {
    "fit": {"de": ("Ja.", "Wie kann ich Ihnen helfen?"), "fr": ("Oui.", "Comment puis-je vous aider ?")},
    "held": {"es": ("Sí.", "¿En qué puedo ayudarle?"), "cmn": ("好。", "你好,我能帮你什么忙?")},
}
FLITE: Final[dict[Half, tuple[str, ...]]] = {"fit": ("awb", "kal16"), "held": ("rms", "slt", "kal")}
ESPEAK: Final[dict[Half, tuple[str, ...]]] = {"fit": ("en-us+m3", "en-us+f2"), "held": ("en-gb+m7", "en-us+f4")}
PROMPTS: Final[dict[Half, tuple[str, ...]]] = {
    "fit": ("en_US_f_Allison", "it_IT_m_Carlo"),
    "held": ("fr_CA_f_June", "ru_RU_f_IvrvoiceRU", "es_MX_f_Allison"),
}
NO_PROMPT: Final = (
    "tone",
    "beep",
    "silence",
    "wrong-try-again-smarty",
    "begin",
    "join",
    "leave",
    "glorious",
    "tt-",
    "demo",
    "ascending",
)
"""Parts of the names of prompts that are tones, noises or have some in them."""
SPEAKERS: Final[dict[Half, tuple[Speaker, ...]]] = {
    "fit": (Speaker(), Speaker(f0_factor=0.6, formant_factor=0.9)),
    "held": (Speaker(f0_factor=1.2, formant_factor=1.05), Speaker(f0_factor=0.75, rate_factor=1.2)),
}


@dataclass(frozen=True, slots=True)
class Item:
    """One sound at 48 kHz, by family; `voice` where it has to be found. `noise_db` under everything, None for silence."""

    family: str
    samples: Floats
    voice: bool
    noise_db: float | None = None
    colour: Colour = "white"


@dataclass(frozen=True, slots=True)
class Seen:
    """What came of an item. `late_s` and `end_s`: error of the voice's start and end, None where it was not found."""

    item: Item
    taken: bool
    late_s: float | None
    end_s: float | None


def to_full(samples: NDArray[np.floating], rate_hz: int) -> Floats:
    """As it is heard, at 48 kHz."""
    return np.asarray(soxr.resample(np.asarray(samples, np.float64), rate_hz, HEARD_RATE_HZ, quality="HQ"), np.float64)


def at_db(sound: Floats, db: float) -> Floats:
    """The sound with its active level at `db` of full scale."""
    scaled: Floats = sound * 10 ** (db / 20) / np.sqrt(max(speech_power(sound, HEARD_RATE_HZ), 1e-20))
    return scaled


def narrow(sound: Floats, rate_hz: int, *, mu_law: bool = False) -> Floats:
    """The sound as a line of `rate_hz` passes it on."""
    low = np.asarray(soxr.resample(sound, HEARD_RATE_HZ, rate_hz, quality="HQ"))
    return to_full(through_mu_law(low) if mu_law else np.round(low * 32768) / 32768, rate_hz)


# Voices


def spoken(half: Half) -> Iterator[tuple[str, Floats]]:
    """Engine or person, and one utterance at its own level."""
    texts = TEXTS[half]
    yield from _made_by("flite", FLITE[half], texts)
    yield from _made_by("espeak-ng", ESPEAK[half], texts)
    for language, said in FOREIGN[half].items():
        yield from _made_by("espeak-ng", (language,), said)
    hibari, piper = HibariSynthesiser(), PiperSynthesiser(resolve("piper-joe"))
    for k, text in enumerate(texts):
        stretch = Stretch(text, Ending("turn_end"), 0)
        for speaker in SPEAKERS[half]:
            yield "hibari", to_full(np.concatenate(hibari.perform([stretch], speaker, Prosody(), 1.0, k)[0]), hibari.rate_hz)
        yield "Piper joe", to_full(piper.speak_turn([stretch], k)[0].samples, piper.rate_hz)
    for speaker_name in PROMPTS[half]:
        for path in _prompts(PEOPLE / speaker_name):
            sound, rate = soundfile.read(path)
            yield f"people ({speaker_name[:2]})", to_full(sound, rate)


def _made_by(program: str, voices: Sequence[str], texts: Sequence[str]) -> Iterator[tuple[str, Floats]]:
    if shutil.which(program) is None:
        print(f"left out: {program} is not installed", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory() as folder:
        for voice in voices:
            for text in texts:
                out = Path(folder) / "said.wav"
                named = (
                    ["-voice", voice, "-t", text, "-o", str(out)] if program == "flite" else ["-v", voice, "-w", str(out), text]
                )
                subprocess.run([program, *named], check=True, capture_output=True)
                sound, rate = soundfile.read(out)
                yield f"{program} {voice}", to_full(sound, rate)


def _prompts(folder: Path) -> list[Path]:
    found = [p for p in sorted(folder.glob("*.wav")) if not any(part in p.name for part in NO_PROMPT)]
    found = [p for p in found if LEAST_S < soundfile.info(p).duration < MOST_S]
    return [*found[::16], *sorted((folder / "digits").glob("[0-9].wav"))[::2]]


def through_world(sound: Floats, manner: str) -> Floats:
    """A voice spoken in another manner: whispered, breathy, monotone, low or high."""
    import pyworld

    rate = 16_000
    low = np.ascontiguousarray(soxr.resample(sound, HEARD_RATE_HZ, rate, quality="HQ"), dtype=np.float64)
    pitch, times = pyworld.harvest(low, rate)
    envelope = pyworld.cheaptrick(low, pitch, times, rate)
    air = pyworld.d4c(low, pitch, times, rate)
    voiced = pitch > 0
    if manner == "whispered":
        # A whisper has no voice and little below the first formant (Ito et al., 2005: 10–20 dB less below 1.5 kHz).
        hz = np.fft.rfftfreq((envelope.shape[1] - 1) * 2, 1 / rate)
        pitch, air = np.zeros_like(pitch), np.ones_like(air)
        envelope = envelope * (1 / (1 + (500 / np.maximum(hz, 1)) ** 2))
    elif manner == "breathy":
        air = np.clip(air + 0.7, 0, 1)
    elif manner == "monotone" and voiced.any():
        pitch = np.where(voiced, np.median(pitch[voiced]), 0.0)
    elif manner in ("low", "high"):
        pitch = pitch * (0.65 if manner == "low" else 1.6)
    return to_full(pyworld.synthesize(pitch, envelope, air, rate), rate)


def voices(half: Half, rng: np.random.Generator) -> Iterator[Item]:
    """Every utterance plain, and in one more condition; some in another manner."""
    for k, (name, sound) in enumerate(spoken(half)):
        family = name.split(" (")[0] if name.startswith("people") else name
        yield Item(family, at_db(sound, -22), True)
        level = float(rng.uniform(-50, -12))
        yield Item(f"voice at {round(level / 10) * 10} dB", at_db(sound, level), True)
        snr = float(rng.choice([10, 20, 30]))
        colour: Colour = "pink" if k % 2 else "white"
        yield Item(f"voice, noise at {snr:.0f} dB SNR", at_db(sound, -22), True, -22 - snr, colour)
        yield Item("voice, μ-law 8 kHz", narrow(at_db(sound, -22), 8_000, mu_law=True), True)
        if name.startswith(("hibari", "Piper", "people", "flite")):
            manner = ("whispered", "breathy", "monotone", "low", "high", "whispered")[k % 6]
            made = through_world(sound, manner)
            yield Item(manner, at_db(made, -38 if manner == "whispered" else -22), True)


# Other sounds


def sounds(half: Half, rng: np.random.Generator) -> Iterator[Item]:
    """Sounds that nobody says, each at a level between −45 and −15 dB and at one of four rates, some through μ-law."""
    made: dict[str, Callable[[np.random.Generator], Floats]] = {
        "steady tone": lambda g: _tones(g, [float(g.uniform(100, 1_500))], 2.0),
        "ringback": lambda g: _tones(
            g, [[425.0], [440.0, 480.0], [400.0, 450.0]][int(g.integers(3))], float(g.uniform(0.4, 2))
        ),
        "DTMF": lambda g: _dtmf(g),
        "rising note": lambda g: _rising(g),
        "earcon, made": lambda g: _earcon(g),
        "chord, held": lambda g: _tones(g, list(np.array([1, 1.26, 1.5, 2]) * g.uniform(110, 440)), 2.0, partials=4),
        "chords on hold": lambda g: music(4, -20, HEARD_RATE_HZ, g, float(g.uniform(0.15, 0.8))),
        "melody": lambda g: _melody(g),
        "typing": lambda g: _clicks(g, int(g.integers(4, 14)), 2.0),
        "click": lambda g: _clicks(g, 1, 0.1),
        "cough": lambda g: _bursts(g, int(g.integers(1, 3)), (0.15, 0.3)),
        "breath": lambda g: breath(float(g.uniform(0.2, 0.9)), -20, HEARD_RATE_HZ, g),
        "voiced blip": lambda g: _blip(g),
        "mains hum": lambda g: _tones(g, [50.0, 100.0, 150.0, 250.0], 3.0),
    }
    for family, make in made.items():
        for k in range(24):
            sound = at_db(make(rng), float(rng.uniform(-45, -15)))
            if k % 2:
                sound = narrow(sound, (8_000, 16_000, 24_000, 8_000)[k // 2 % 4], mu_law=k % 4 == 3)
            yield Item(family, sound, False, None if k % 3 else float(rng.uniform(-70, -55)))
    for db in (-60, -55, -50, -45, -40, -35, -30):
        for colour in ("white", "pink"):
            for _ in range(2):
                level = db + float(rng.uniform(-2, 2))
                yield Item(f"{colour} noise", coloured_noise(4 * HEARD_RATE_HZ, level, rng, colour), False)
    for k in range(12):
        yield Item(
            "DC, fills of a constant",
            np.full(2 * HEARD_RATE_HZ, (0.1, -0.03, 32124 / 32768, -0.98)[k % 4]) * (1 - k * 0.02),
            False,
        )
    for k, path in enumerate(sorted(HOLD.glob("*.wav"))):
        if (k % 2 == 0) == (half == "fit"):
            sound, rate = soundfile.read(path)
            for at in rng.integers(0, len(sound) - 6 * rate, 12):
                piece = to_full(sound[at : at + 6 * rate], rate)
                yield Item(f"hold: {path.stem}", at_db(piece, float(rng.uniform(-40, -18))), False)
    for k, path in enumerate(sorted(EARCONS.glob("*.oga"))):
        if (k % 2 == 0) == (half == "fit") and "audio-channel" not in path.name and "test" not in path.name:
            sound, rate = soundfile.read(path, always_2d=True)
            piece = to_full(sound.mean(axis=1), rate)
            yield Item("earcon, desktop", at_db(piece, -25), False)
            yield Item("earcon, desktop", narrow(at_db(piece, -25), 8_000, mu_law=True), False)


def _time(seconds: float) -> Floats:
    return np.arange(round(seconds * HEARD_RATE_HZ)) / HEARD_RATE_HZ


def _faded(sound: Floats, seconds: float = 0.01) -> Floats:
    n = min(round(seconds * HEARD_RATE_HZ), len(sound) // 2)
    ramp = np.linspace(0, 1, n)
    sound[:n] *= ramp
    sound[len(sound) - n :] *= ramp[::-1]
    return sound


def _tones(rng: np.random.Generator, hz: Sequence[float], seconds: float, partials: int = 1) -> Floats:
    t = _time(seconds)
    tones = [np.sin(2 * np.pi * f * p * t + rng.uniform(0, 6)) / p**1.5 for f in hz for p in range(1, partials + 1)]
    return _faded(np.sum(tones, axis=0))


def _dtmf(rng: np.random.Generator) -> Floats:
    keys = [(float(rng.choice([697, 770, 852, 941])), float(rng.choice([1209, 1336, 1477]))) for _ in range(5)]
    return np.concatenate([np.pad(_tones(rng, key, 0.1), (0, round(0.08 * HEARD_RATE_HZ))) for key in keys])


def _rising(rng: np.random.Generator) -> Floats:
    t, low = _time(float(rng.uniform(0.1, 0.6))), float(rng.uniform(180, 700))
    note = sum(chirp(t, low * p, t[-1], low * p * rng.uniform(1.3, 2)) / p**1.5 for p in range(1, int(rng.integers(2, 5))))
    return _faded(np.asarray(note))


def _earcon(rng: np.random.Generator) -> Floats:
    notes = [float(rng.choice([523, 587, 659, 784, 880, 1047])) for _ in range(int(rng.integers(2, 4)))]
    parts = [_tones(rng, [hz], 0.12, 3) * np.exp(-_time(0.12) * float(rng.uniform(3, 15))) for hz in notes]
    return np.concatenate(parts)


def _melody(rng: np.random.Generator) -> Floats:
    scale = 220 * 2 ** (np.array([0, 2, 4, 5, 7, 9, 11, 12]) / 12)
    t = _time(0.3)
    notes = []
    for _ in range(12):
        hz, wobble = float(rng.choice(scale)), float(rng.choice([0, 0.004, 0.01]))
        phase = 2 * np.pi * hz * t + wobble * hz * np.sin(2 * np.pi * 5.5 * t) / 5.5
        notes.append(_faded(np.sum([np.sin(p * phase) / p for p in range(1, 6)], axis=0) * np.exp(-2 * t)))
    return np.concatenate(notes)


def _clicks(rng: np.random.Generator, count: int, seconds: float) -> Floats:
    sound = np.zeros(round(seconds * HEARD_RATE_HZ))
    for at in rng.uniform(0, seconds - 0.05, count):
        n, begin = round(rng.uniform(0.004, 0.03) * HEARD_RATE_HZ), round(at * HEARD_RATE_HZ)
        tap = rng.standard_normal(n) * np.exp(-np.linspace(0, 6, n))
        sound[begin : begin + n] += sosfilt(
            butter(2, [float(rng.uniform(300, 1_500)), 6_000], "bandpass", fs=HEARD_RATE_HZ, output="sos"), tap
        )
    return sound


def _bursts(rng: np.random.Generator, count: int, length_s: tuple[float, float]) -> Floats:
    parts = []
    for _ in range(count):
        t = _time(float(rng.uniform(*length_s)))
        air = lfilter(
            [1.0],
            [1, -1.6 * np.cos(2 * np.pi * rng.uniform(400, 900) / HEARD_RATE_HZ) * 0.98, 0.6],
            rng.standard_normal(len(t)),
        )
        parts += [_faded(air * np.exp(-t * 14), 0.004), np.zeros(round(0.12 * HEARD_RATE_HZ))]
    return np.concatenate(parts)


def _blip(rng: np.random.Generator) -> Floats:
    from harness.calibrate.voice import synthetic_voice

    seconds = float(rng.uniform(0.02, 0.06))
    return _faded(synthetic_voice(seconds, HEARD_RATE_HZ, rng, float(rng.uniform(100, 220))), 0.004)


# Judging


def see(item: Item, rng: np.random.Generator) -> Seen:
    """The item as a call's track, through the detection of utterances."""
    lead = np.zeros(round(LEAD_S * HEARD_RATE_HZ))
    track = np.concatenate([lead, item.samples, lead])
    if item.noise_db is not None:
        track = track + coloured_noise(len(track), item.noise_db, rng, item.colour)
    steps = np.clip(np.round(track * 32768), -32768, 32767).astype(np.float32) / 32768
    found = find_sounds(HeardTrack(np.asarray(steps, np.float32), (), (), 0), silero())
    vocal = [s for s in found if s.kind not in ("nonvocal", "breath")]
    if not item.voice:
        return Seen(item, bool(vocal), None, None)
    first, last = first_sample(item.samples, HEARD_RATE_HZ), last_sample(item.samples, HEARD_RATE_HZ)
    assert first is not None
    assert last is not None
    begin, end = len(lead) + first, len(lead) + last
    over = [s for s in vocal if s.start < end and s.end > begin]
    if not over:
        return Seen(item, False, None, None)
    return Seen(item, True, (over[0].start - begin) / HEARD_RATE_HZ, (over[-1].end - end) / HEARD_RATE_HZ)


def table(seen: Sequence[Seen]) -> Iterator[str]:
    """One line a family: the share found (or taken), and of the found the share that begins late and the error of the end."""
    families: dict[str, list[Seen]] = defaultdict(list)
    for one in seen:
        voice = "all whispers" if one.item.family == "whispered" else "all voices but whispers"
        families[one.item.family].append(one)
        families[voice if one.item.voice else "all other sounds"].append(one)
    for name, some in families.items():
        taken = [s.taken for s in some]
        share = f"{sum(taken):4d} of {len(some):4d} ({np.mean(taken):6.1%})"
        late = [s.late_s > LATE_S for s in some if s.late_s is not None]
        ends_ms = [abs(s.end_s) * 1000 for s in some if s.end_s is not None]
        end = f"end off p50 {np.median(ends_ms):4.0f} p95 {np.quantile(ends_ms, 0.95):4.0f} ms" if ends_ms else ""
        rest = f"  late {np.mean(late):5.1%}, {end}" if late else ""
        yield f"{'found' if some[0].item.voice else 'taken':6} {name:34} {share}{rest}"


def main() -> None:
    """Print the table of one half, `held` by default."""
    half: Half = "fit" if "fit" in sys.argv[1:] else "held"
    rng = np.random.default_rng(1 if half == "fit" else 2)
    items = [*voices(half, rng), *sounds(half, rng)]
    print("\n".join(table([see(replace(item), rng) for item in items])))


if __name__ == "__main__":
    main()

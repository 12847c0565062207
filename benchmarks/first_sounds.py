"""Sentences by their first sound, spoken by real synthesisers, with the sample at which each begins.

A programmed vowel says little about where /k/ or /f/ is found: a burst is 10 ms, apart from its vowel and loud as a click, and
a weak fricative is 30 to 40 dB under the vowel. So every class of first sound is spoken by voices of different kinds: neural
(Piper joe, hibari), joined pieces of recorded speech (flite), statistical (festival's HTS), formants and a Klatt synthesiser
(espeak-ng). Debian's packages `flite`, `espeak-ng`, `festival` and `festvox-us-slt-hts` bring those that the extra `local`
lacks; a voice that is not installed is left out.

The truth is of the sentence as synthesised, before noise, level or line: the first sample whose 8 ms RMS, looking back, lies
within 40 dB of the sentence's speech level (`harness.audio.level`). A sound that ends 90 ms and more before the word, over the
longest closure of a plosive, is no part of it: the recordings behind `flite rms` have noises of the mouth there. Voices
whose own noise is within 48 dB of their speech have no such sample (flite awb and kal16). Constants of `harness.audio.onset`
are chosen on `CHOOSING`: other voices and other words than those of `REPORTING`.

`python -m benchmarks.first_sounds [choosing]` prints the error by line and first sound.
"""

import shutil
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

from benchmarks.made_recordings import Said, make_recording
from harness.audio.level import speech_power
from harness.audio.pcm import decode, encode, to_int16
from harness.calibrate.first_sounds import word_begins
from harness.calibrate.voice import Colour, coloured_noise
from harness.models import resolve
from harness.timing import measure

Floats = NDArray[np.float64]
PLAIN_DB: Final = -24.0
"""Speech level of every sentence, dB of full scale."""

SENTENCES: Final[Mapping[str, Sequence[str]]] = {
    "plosive": (
        "Can we try that again?", "People often feel that way.", "Take your time with it.", "Both of those make sense.",
        "Do you want to go on?", "Good, I am glad to hear it.", "Keep going, I am here.", "Perhaps it was a hard day.",
        "Tell me more about it.", "But you did come back.", "Don't worry about the time.", "Getting up is a start.",
        "Kind words help a little.", "Please go on when you like.", "Two things come to mind.", "Being tired is no shame.",
        "Days like this are long.", "Give it a little time.", "Come in and sit down.", "Part of you wants to stay.",
        "Cold tea is fine too.", "Today was a long one.", "Coping takes a lot of strength.", "Talk to me about your brother.",
    ),
    "fricative": (
        "For how long have you felt this?", "Thank you for telling me.", "So what happened then?", "She may not know that.",
        "Very few people would say so.", "That sounds really hard.", "Feeling lost is not a fault.",
        "Think of it as a first step.",
        "Some days are like that.", "Should we look at it together?", "Zero is where we all begin.",
        "Those are big questions.",
        "First, tell me how you are.", "Three weeks is a long time.", "Sleep can be hard to find.",
        "Shall we go through it slowly?",
        "Visits from family can help.", "There is no hurry at all.", "Finding words is not easy.",
        "Thirty minutes is enough.",
        "Sure, I can do that.", "Friends may not notice it.", "Something must have changed.",
        "Though you waited a long time.",
    ),
    "nasal": (
        "My name is Anna.", "No, you did nothing wrong.", "Maybe we can start there.", "Now tell me about your week.",
        "Much of that is new to me.", "Nobody has asked you that before.", "Most people need a rest.",
        "Not every day is like this one.",
        "Mornings are the worst, you said.", "Nights can be very long.", "Making a list might help.",
        "Nine hours is a good sleep.",
        "Moving house is a lot of work.", "Nearly everyone feels it.", "Mum would be glad to hear it.",
        "Never mind the others.",
        "Meeting them was brave.", "Nice to hear from you again.", "Mm, I see what you mean.", "Need I say any more?",
    ),
    "vowel": (
        "I hear you.", "All of it matters.", "Everyone needs a friend.", "Is there somebody near you?",
        "Asking for help is brave.", "Under all that you are calm.", "Every evening you wait for her.",
        "Our time is not over yet.",
        "It is fine to be sad.", "Each of us has a limit.", "Anyone would feel that.", "Only you can know that.",
        "Actually, that makes sense.", "Of course you can.", "Even a short walk helps.", "Other people said so too.",
        "After that, what did you do?", "Oh, I am sorry to hear it.", "Almost there now.", "Are you at home right now?",
    ),
    "h": (
        "How are you feeling today?", "He did not mean it.", "Hello, I am listening.", "Have you eaten anything?",
        "Hearing that must have hurt.", "Home is not always easy.", "Here is one small idea.", "Holding on is hard.",
        "Her words stayed with you.", "Hope comes and goes.", "Happy to help with that.", "Half of it is luck.",
        "Who was there with you?", "Hard days do pass.", "His letter came too late.", "Hurry is the wrong word.",
        "Whole weeks can go by.", "Help is never far away.", "High walls are hard to climb.", "Human beings need rest.",
    ),
    "liquid": (
        "Let us begin with you.", "Right, I understand.", "We can talk about that.", "You are not alone.",
        "Life can be unfair.", "Really, that is a lot.", "What would help you now?", "Yes, I can hear that.",
        "Look at how far you came.", "Rest when you need to.", "When did it begin?", "Your mother may be worried.",
        "Loud rooms are tiring.", "Relax your shoulders a bit.", "Well, that is good news.", "Yesterday was hard for you.",
        "Leave it for a moment.", "Reading may help you sleep.", "Would you like to try?", "Use whatever words you like.",
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class FirstSound:
    """One sentence as synthesised: mono at `rate_hz`, at `PLAIN_DB`; `begins` is its first sample of speech."""

    voice: str
    kind: str
    text: str
    rate_hz: int
    sound: Floats
    begins: int


Speaks = Callable[[str], tuple[Floats, int]]


def _flite(voice: str) -> Speaks:
    return lambda text: _program("flite", "-voice", voice, "-t", text, "-o", "{out}")


def _espeak(voice: str) -> Speaks:
    return lambda text: _program("espeak-ng", "-v", voice, "-w", "{out}", text)


def _festival(voice: str) -> Speaks:
    return lambda text: _program("text2wave", "-eval", f"(voice_{voice})", "-o", "{out}", words=text)


def _program(*command: str, words: str = "") -> tuple[Floats, int]:
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder) / "spoken.wav")
        subprocess.run(
            [part.replace("{out}", out) for part in command], input=words, check=True, capture_output=True, text=True
        )
        samples, rate_hz = soundfile.read(out, dtype="float64")
    return samples, rate_hz


@lru_cache(maxsize=1)
def _joe() -> Any:
    from piper import PiperVoice

    return PiperVoice.load(resolve("piper-joe"))


def _say_joe(text: str) -> tuple[Floats, int]:
    parts = [chunk.audio_float_array for chunk in _joe().synthesize(text)]
    return np.concatenate(parts).astype(np.float64), int(_joe().config.sample_rate)


@lru_cache(maxsize=1)
def _hibari() -> Any:
    from hibari import Hibari

    return Hibari()


def _say_hibari(text: str) -> tuple[Floats, int]:
    return np.asarray(_hibari()(text), np.float64), int(_hibari().sample_rate)


VOICES: Final[Mapping[str, tuple[str | None, Speaks]]] = {
    "joe": (None, _say_joe),
    "flite rms": ("flite", _flite("rms")),
    "espeak-ng us": ("espeak-ng", _espeak("en-us")),
    "espeak-ng klatt": ("espeak-ng", _espeak("en-us+klatt2")),
    "hibari": (None, _say_hibari),
    "flite slt": ("flite", _flite("slt")),
    "espeak-ng gb": ("espeak-ng", _espeak("en-gb+f3")),
    "festival slt": ("text2wave", _festival("cmu_us_slt_arctic_hts")),
}
"""Each voice with the program that it needs."""
CHOOSING: Final = ("joe", "flite rms", "espeak-ng us", "espeak-ng klatt")
REPORTING: Final = ("hibari", "flite slt", "espeak-ng gb", "festival slt")


def spoken(voices: Sequence[str] = REPORTING) -> Iterator[FirstSound]:
    """Sentences by these voices: the odd ones by voices on which constants are chosen, the even ones by the others."""
    for name in voices:
        program, speaks = VOICES[name]
        if program is not None and shutil.which(program) is None:
            continue
        for kind, sentences in SENTENCES.items():
            for text in sentences[1 if name in CHOOSING else 0 :: 2]:
                sound, rate_hz = speaks(text)
                sound = sound * 10 ** (PLAIN_DB / 20) / np.sqrt(speech_power(sound, rate_hz))
                yield FirstSound(name, kind, text, rate_hz, sound, word_begins(sound, rate_hz))


AGENT_HZ: Final = 24_000
LINES: Final[Mapping[str, tuple[int, Colour | None, float]]] = {
    "clean": (AGENT_HZ, None, 0.0),
    "room tone, −70 dB": (AGENT_HZ, "pink", -70.0),
    "room tone, −60 dB": (AGENT_HZ, "pink", -60.0),
    "30 dB white": (AGENT_HZ, "white", PLAIN_DB - 30),
    "30 dB pink": (AGENT_HZ, "pink", PLAIN_DB - 30),
    "20 dB white": (AGENT_HZ, "white", PLAIN_DB - 20),
    "20 dB pink": (AGENT_HZ, "pink", PLAIN_DB - 20),
    "8 kHz": (8_000, None, 0.0),
    "16 kHz": (16_000, None, 0.0),
    "μ-law": (8_000, None, 0.0),
}
"""Each line with its rate, and the colour and level of noise that begins 60 to 800 ms before the sentence does."""


def error_ms(first: FirstSound, line: str) -> float | None:
    """The measured TTFA of a sentence over a line, minus the true one; None where the turn has none."""
    rng = np.random.default_rng(zlib.crc32(f"{first.voice} {first.text} {line}".encode()))
    rate_hz, colour, noise_db = LINES[line]
    lead_s = rng.uniform(0.06, 0.8) if colour else rng.uniform(0.0, 0.3)
    sound = np.concatenate([np.zeros(round(lead_s * first.rate_hz)), first.sound])
    begins_s = round(lead_s * first.rate_hz) / first.rate_hz + first.begins / first.rate_hz
    sound = soxr.resample(sound, first.rate_hz, rate_hz, quality="VHQ")
    if colour is not None:
        sound = sound + coloured_noise(len(sound), noise_db, rng, colour)
    if line == "μ-law":
        sound = decode(encode(to_int16(sound), "ulaw"), "ulaw") / 32768
    said = Said(0.3, soxr.resample(sound, rate_hz, AGENT_HZ, quality="VHQ"))
    ttfa_ms = measure(make_recording(said, total_s=10.0).recording).ttfa_ms
    return None if ttfa_ms is None else ttfa_ms - (0.3 + begins_s) * 1000


def main() -> None:
    """Print p50 and p95 of the error's size, in ms, by line and first sound, and the share without a figure."""
    sounds = list(spoken(CHOOSING if "choosing" in sys.argv[1:] else REPORTING))
    print(f"{'line':20}" + "".join(f"{kind:>14}" for kind in (*SENTENCES, "all")) + "  none")
    for line in LINES:
        errors = [(first.kind, error_ms(first, line)) for first in sounds]
        row = []
        for kind in (*SENTENCES, None):
            sizes = [abs(e) for k, e in errors if e is not None and kind in (k, None)]
            row.append(f"{np.percentile(sizes, 50):.1f}, {np.percentile(sizes, 95):.1f}")
        print(
            f"{line:20}" + "".join(f"{cell:>14}" for cell in row) + f"  {np.mean([e is None for _, e in errors]):.1%}",
            flush=True,
        )


if __name__ == "__main__":
    main()

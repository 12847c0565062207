"""The callers that speak in shipped packs: one recorded voice, and others made from it.

No second English voice of usable quality can be had as an ordinary package: Japanese Kokoro voices reading English reach
9 to 13 % word errors and 0.6 to 1.3 of real time on a core (docs/voices.md). Moving F0 and formants of the one good
voice by a vocoder makes callers of either sex that are understood as well as the original. They share its accent and
reading style, which is said wherever voices are listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from audio.prosody import Speaker


@dataclass(frozen=True, slots=True)
class CallerVoice:
    """A caller by name: the weight that speaks and how it is moved."""

    name: str
    about: str
    weight: str
    speaker: Speaker


_ALL = (
    CallerVoice("joe", "a man (the recorded voice itself)", "piper-joe", Speaker()),
    CallerVoice("jo", "a woman (made from joe)", "piper-joe", Speaker(1.9, 1.15)),
    CallerVoice("ned", "a younger man (made from joe)", "piper-joe", Speaker(1.2, 1.06)),
    CallerVoice("may", "a younger woman (made from joe)", "piper-joe", Speaker(2.1, 1.18)),
)
CALLER_VOICES: Mapping[str, CallerVoice] = {voice.name: voice for voice in _ALL}
DEFAULT_VOICE = "joe"
_ALSO_CALLED: Mapping[str, str] = {"default": DEFAULT_VOICE, "slt": "jo", "male": "joe", "female": "jo"}


def caller_voice(wish: str) -> tuple[CallerVoice, bool]:
    """The voice that speaks for a wish, and whether the wish was known (otherwise it is the default voice)."""
    name = _ALSO_CALLED.get(wish, wish)
    return CALLER_VOICES.get(name, CALLER_VOICES[DEFAULT_VOICE]), name in CALLER_VOICES

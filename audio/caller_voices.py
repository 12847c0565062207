"""The callers that speak in shipped packs: two synthesisers, and speakers of both sexes made from each.

One reader with four variants would let an agent be fitted to one voice. No third English voice of usable quality exists
as an ordinary package (docs/decisions/audio-vocoder.md), so speakers are made: from Piper's man by a vocoder, from hibari's
woman on the frames that her sound is made of. Speakers of one synthesiser share its accent and reading style, which is
said wherever voices are listed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from harness.audio.prosody import Speaker

HIBARI = "hibari"
"""Stands for a weight: the voice inside its own package."""


@dataclass(frozen=True, slots=True)
class CallerVoice:
    """A caller by name: the weight of the voice and its changes."""

    name: str
    about: str
    sex: Literal["woman", "man"]
    weight: str
    speaker: Speaker
    drawn: bool = True
    """True if contexts that name no voice may get this one."""

    @property
    def unmoved(self) -> bool:
        """True for the synthesiser's own voice, which an agent may have too."""
        return self.speaker == Speaker()


_ALL = (
    CallerVoice("joe", "a man (Piper's voice itself)", "man", "piper-joe", Speaker()),
    CallerVoice("jo", "a woman (made from joe)", "woman", "piper-joe", Speaker(1.9, 1.15)),
    CallerVoice("ned", "a younger man (made from joe)", "man", "piper-joe", Speaker(1.2, 1.06), drawn=False),
    CallerVoice("may", "a younger woman (made from joe)", "woman", "piper-joe", Speaker(2.1, 1.18), drawn=False),
    CallerVoice("ann", "a woman (hibari's voice itself)", "woman", HIBARI, Speaker()),
    CallerVoice("eve", "an older woman, slow (made from ann)", "woman", HIBARI, Speaker(0.80, 0.96, 0.9, 0.88, -0.8)),
    CallerVoice("zoe", "a younger woman, brisk (made from ann)", "woman", HIBARI, Speaker(1.14, 1.06, 1.1, 1.1, 0.5)),
    CallerVoice("tom", "a man (made from ann)", "man", HIBARI, Speaker(0.56, 0.87)),
    CallerVoice("abe", "an older man, slow (made from ann)", "man", HIBARI, Speaker(0.48, 0.84, 0.85, 0.86, -1.0)),
    CallerVoice("max", "a younger man, brisk (made from ann)", "man", HIBARI, Speaker(0.66, 0.91, 1.1, 1.16, 0.5)),
)
"""Factors on F0 follow adults' means (women about 200 Hz, men 110 to 120; Traunmüller and Eriksson 1995), those on formants
men's vocal tract, about a sixth longer than women's (Fitch and Giedd 1999). Age: slower and, in women, lower (Linville
2001). Of the four that Piper speaks only two are drawn: a turn-taking model believes the ends of its long turns less often (in
development: 22 % of those of 25 words and more, 79 % of hibari's)."""
CALLER_VOICES: Mapping[str, CallerVoice] = {voice.name: voice for voice in _ALL}
DEFAULT_VOICE = "joe"
_ALSO_CALLED: Mapping[str, str] = {"default": DEFAULT_VOICE, "slt": "jo", "male": "joe", "female": "jo"}
_OPEN_WISHES: Mapping[str, Literal["woman", "man"] | None] = {"default": None, "male": "man", "female": "woman"}
"""Wishes that name no voice, with the sex from which one is drawn."""


def caller_voice(wish: str) -> tuple[CallerVoice, bool]:
    """The voice for a wish, and True if the wish is known (otherwise it is the default voice).

    >>> voice, known = caller_voice("female")
    >>> voice.name, known
    ('jo', True)
    """
    name = _ALSO_CALLED.get(wish, wish)
    return CALLER_VOICES.get(name, CALLER_VOICES[DEFAULT_VOICE]), name in CALLER_VOICES


def cast(wish: str, context_id: str, seed: int, taken: Collection[str] = ()) -> str:
    """The voice of a context: the one that its pack names, or one drawn from the seed.

    >>> cast("eve", "context-1", seed=0), cast("default", "context-1", seed=0) == cast("default", "context-1", seed=0)
    ('eve', True)

    `taken` are the voices of agents in the run: no caller gets these voices unchanged, and if a pack
    names one, another of the same sex is drawn. The draw is by rank, so that a taken voice changes only the contexts
    that it would have had.
    """
    named = CALLER_VOICES.get(_ALSO_CALLED.get(wish, wish)) if wish not in _OPEN_WISHES else None
    if wish not in _OPEN_WISHES and (named is None or not _is_taken(named, taken)):
        return wish
    sex = named.sex if named else _OPEN_WISHES[wish]
    free = [v for v in _ALL if v.drawn and not _is_taken(v, taken) and sex in (None, v.sex)]
    return min(free, key=lambda v: hashlib.sha256(f"{seed}\n{context_id}\n{v.name}".encode()).digest()).name


def bystander(caller: str, context_id: str, seed: int, taken: Collection[str] = ()) -> str:
    """The voice of another person near a caller, drawn from the seed: of the other sex, and not an agent's voice.

    For a caller whose voice is not known (a recording, a service) anybody is. Voices in `taken` are excluded in every
    disguise, because an agent must not hear its own voice from the room; if they are all there are, only unmoved.
    """
    voice, known = caller_voice(caller)
    free = [v for v in _ALL if v.drawn and not _is_taken(v, taken) and not (known and v.sex == voice.sex)]
    others = [v for v in free if v.weight not in taken] or free
    return min(others, key=lambda v: hashlib.sha256(f"{seed}\nbystander\n{context_id}\n{v.name}".encode()).digest()).name


def _is_taken(voice: CallerVoice, taken: Collection[str]) -> bool:
    return voice.unmoved and voice.weight in taken

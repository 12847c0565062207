"""The end of each stretch of a turn: cues that the speaker goes on before a pause, or has finished at the end.

People give such cues, but never reliably (Columbia Games Corpus, Gravano and Hirschberg 2011; counts below), so their
distribution is drawn from a seed: some pauses after a sentence sound finished, and some ends do not. A pause in mid-sentence is
cut out of a sentence that was spoken whole; but a voice reads as if it knew what comes, and people who stop inside a phrase
lengthen the syllable before the silence, keep its pitch, or say "um" (Campione and Véronis 2005).
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from harness.audio.speech_text import Segment, spelt

Kind = Literal["mid_sentence", "after_sentence", "turn_end"]
Tone = Literal["own", "plateau", "rise", "fall"]
"""The melody of the last half second: the voice's own, level, a small rise, or down to the bottom of the range."""

HOLD_COUNTS = {"plateau": 1680, "rise": 646, "fall": 1387, "high_rise": 513}
"""Phrases before a *hold* by boundary tone, those with none (pauses in mid-phrase, mostly) and "other" left out. Gravano and
Hirschberg 2011; the counts are in Gravano's thesis (Columbia University 2009), table 6.1."""
YIELD_COUNTS = {"fall": 1032, "high_rise": 484, "rise": 309, "plateau": 289}
"""The same before a *smooth switch*."""

_HELD = HOLD_COUNTS["plateau"] + HOLD_COUNTS["rise"]
CONJUNCTION = re.compile(r"^(and|but|so|because)\b[,\s]*+(?=\S++\s++\S)", re.IGNORECASE)
"""A word that a speaker may say before the pause instead of after it; at least two words must remain."""

FILLER = re.compile(r"\b(?:um+|uh+|erm?|hm+|mm+)\b[\s,.…—–-]*$", re.IGNORECASE)
CLAUSE_END = re.compile(r"[,;:—–][\"'”’)\]]*\s*$")
SENTENCE_END = re.compile(r"[.!?][\"'”’)\]]*$")

TRAILS_OFF = re.compile(r"(?:…|(?<!\.)\.{2,}+)[\"'”’)\s]*$")


@dataclass(frozen=True, slots=True)
class FloorSettings:
    """The frequency of each cue. All draws depend on `seed` and on the words, so that all voices end a turn in the same way."""

    hold_share: float = round(_HELD / sum(HOLD_COUNTS.values()), 2)
    """Pauses after a complete phrase before which the speaker shows that there is more: the share of plateaus and low rises
    among phrases before a hold (0.55)."""
    rise_share: float = round(HOLD_COUNTS["rise"] / _HELD, 2)
    """Share of these that end in a small rise and not in a plateau (0.28)."""
    yield_share: float = round(1 - YIELD_COUNTS["plateau"] / sum(YIELD_COUNTS.values()), 2)
    """Share of turn ends that sound finished: all but the plateaus before a smooth switch (0.86)."""
    breath_share: float = 0.35
    """Held pauses that begin with an audible breath in. People breathe in most long pauses (Rochet-Capellan and Fuchs 2014),
    and a telephone carries some of it; no source gives a share for callers, so this one is ours."""
    filler_share: float = 0.4
    """Held pauses after a sentence announced by an "um": of the patients' pauses after a sentence in PriMock57 (Korfiatis et
    al. 2022, 295 pauses between utterances of one speaker) 22 % follow a filler, which is 40 % of those that are held here."""
    mid_filler_share: float = 0.41
    """Pauses in mid-sentence to which an "um" is added. By the law of places (`harness.scenarios.pause_places`) 48 % of
    patients' pauses in mid-sentence are at a hesitation, and 11 % in the shipped texts. Counted between utterances
    alone, 28 of 62 such pauses of both speakers follow a filler (45 %, 95 % interval 33 to 58 %)."""
    conjunction_share: float = 0.5
    """Held pauses whose next sentence opens with "and", "so", "but" or "because": said before the pause instead (ours)."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if name != "seed" and not 0 <= value <= 1:
                raise ValueError(f"{name} {value:g}: is a share, from 0 to 1")


_NAMES: Mapping[Tone, str] = {"rise": "rising_pitch", "plateau": "plateau", "own": "runs_on", "fall": "falling_pitch"}


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of one stretch. `cues` are its cues by name, in the words of the recording's notes."""

    kind: Kind
    tone: Tone = "own"
    final_lengthening: float = 1.0
    """Factor on the duration of the last syllable, against the voice's own reading of the words."""
    fade_db: float = 0.0
    breath: bool = False
    cues: tuple[str, ...] = ()
    holds: bool | None = None
    """True if the speaker shows that more follows; None in mid-sentence, where the words show it."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """The words between two pauses, spelt for a voice, and their end. `text` may end in mid-sentence."""

    text: str
    ending: Ending
    pause_after_ms: int

    @property
    def closes(self) -> bool:
        """True if a sentence ends with it, so that the next stretch begins another."""
        return SENTENCE_END.search(self.text) is not None


HESITATION_LENGTHENING = 1.7
"""Factor on the last syllable before a pause inside a phrase: "and" lasts 305 ms before a silence and 180 ms in running speech
(Switchboard, 14,837 and 84,092 of them; M. Liberman, "Pre-filled-pause lengthening", Language Log 2014)."""

NO_FINAL_LENGTHENING = 0.85
"""Factor that cancels about the English lengthening of a phrase's last syllable against the same one inside a phrase, in the
synthesisers used here too: a speaker who goes on rushes through (Local and Walker 2004)."""

YIELD_FADE_DB = -3.0
"""Gain of the last half second: phrases before a turn change are quieter by about this (Gravano and Hirschberg 2011, figure
on intensity: a fifth to a quarter of a standard deviation over the whole phrase, more at its end)."""


def plan_turn(segments: Sequence[Segment], settings: FloorSettings) -> tuple[Stretch, ...]:
    """The stretches of a turn for the voice, each with its planned end."""
    chance = random.Random(_seed(segments, settings.seed))
    texts = [_left_open(segment) for segment in segments]
    stretches: list[Stretch] = []
    for k, segment in enumerate(segments):
        if k + 1 == len(segments):
            stretches.append(Stretch(_closed(texts[k]), _turn_end(texts[k], settings, chance), 0))
            continue
        ending = _before_pause(texts, k, settings, chance)
        stretches.append(Stretch(texts[k], ending, segment.pause_after_ms))
    return tuple(stretches)


def _left_open(segment: Segment) -> str:
    """The text without a final "…": trailing off does not end a sentence, but a voice would read it as an end."""
    text = spelt(segment.text)
    return text.rstrip(".") + "," if segment.pause_after_ms and TRAILS_OFF.search(segment.text) else text


def _before_pause(texts: list[str], k: int, settings: FloorSettings, chance: random.Random) -> Ending:
    """The end of stretch `k`; changes its text, and the next one's if a conjunction moves."""
    draws = [chance.random() for _ in range(5)]
    if not SENTENCE_END.search(texts[k]):
        return _in_mid_sentence(texts, k, settings, draws)
    if draws[0] >= settings.hold_share or texts[k].rstrip("\"'”’)]").endswith("?"):
        return Ending("after_sentence", cues=("as_read",), holds=False)
    cues = ["no_final_lengthening"]
    tone: Tone = "rise" if draws[1] < settings.rise_share else "plateau"
    texts[k] = texts[k].rstrip(".!?\"'”’)] ") + ","
    moved = CONJUNCTION.match(texts[k + 1])
    if moved and draws[2] < settings.conjunction_share:
        texts[k] += f" {moved.group(1).lower()}"
        texts[k + 1] = texts[k + 1][moved.end() :]
        cues.append("conjunction")
        tone = "own"
    elif draws[3] < settings.filler_share:
        texts[k] += " um,"
        cues.append("filler")
    cues.append(_NAMES[tone])
    breath = draws[4] < settings.breath_share
    if breath:
        cues.append("breath")
    return Ending("after_sentence", tone, NO_FINAL_LENGTHENING, breath=breath, cues=tuple(cues), holds=True)


def _in_mid_sentence(texts: list[str], k: int, settings: FloorSettings, draws: Sequence[float]) -> Ending:
    """The end in mid-sentence: inside a phrase a longer last syllable on level pitch; at a comma, where voices do so, the pitch
    stays up."""
    says_filler = FILLER.search(texts[k]) is not None
    says_something = any(character.isalnum() for character in texts[k])
    if says_something and not says_filler and draws[3] < settings.mid_filler_share:
        texts[k] = texts[k].rstrip(",;:—– ") + ", um,"
        says_filler = True
    if says_filler:
        return Ending("mid_sentence", "plateau", HESITATION_LENGTHENING, cues=("filler", "drawn_out", "plateau"))
    if CLAUSE_END.search(texts[k]):
        tone: Tone = "rise" if draws[1] < settings.rise_share else "plateau"
        return Ending("mid_sentence", tone, cues=(_NAMES[tone],))
    return Ending("mid_sentence", "plateau", HESITATION_LENGTHENING, cues=("drawn_out", "plateau"))


def _turn_end(text: str, settings: FloorSettings, chance: random.Random) -> Ending:
    if chance.random() >= settings.yield_share:
        return Ending("turn_end", "plateau", cues=("plateau",), holds=True)
    if text.rstrip("\"'”’)]").endswith("?"):
        return Ending("turn_end", fade_db=YIELD_FADE_DB, cues=("as_read", "fading"), holds=False)
    return Ending("turn_end", "fall", fade_db=YIELD_FADE_DB, cues=("falling_pitch", "fading"), holds=False)


def _closed(text: str) -> str:
    open_end = text.rstrip(",;: ")
    return text if SENTENCE_END.search(open_end) or not open_end else open_end + "."


def _seed(segments: Sequence[Segment], seed: int) -> int:
    said = "\n".join(segment.text for segment in segments)
    return int(hashlib.sha256(f"{seed}\n{said}".encode()).hexdigest()[:15], 16)

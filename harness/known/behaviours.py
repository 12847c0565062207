"""The behaviours of known agents, each a definition and the times that follow from it.

A latency tool that is right about a clean reply says little: it errs where a click precedes the voice, a filler the answer,
noise or music lies under both, or the agent speaks before its caller has ended. Each behaviour is one such thing, so that an
error in its row names its cause. A behaviour is data alone: live agents (`harness.known.conduct`) and recordings
(`harness.known.calls`) play the same table.
"""

import re
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, Literal

Anchor = Literal["end", "pause", "begin", "open"]
"""The caller's spoken end; the first pause of a turn; a turn's first sample; the opening of the call."""
Bed = Literal["none", "silence", "noise", "dc", "echo"]
"""Sound that is sent all call long; none: nothing is sent between replies."""
Mistake = Literal["rate", "stereo", "byte-order"]
DELAY_MS: Final = 800.0
"""An answer comes after it unless a call asks for another delay: longer than the closure of a plosive (90 ms), by which a
delay of less would answer within a word, and in reach of an agent of today."""
SHORTEST_MS: Final = 100.0


@dataclass(frozen=True, slots=True)
class Part:
    """One sound of a reply. `at_ms`: from the anchor to where the sound begins; None: at the delay of the call."""

    sound: str
    """Name of a sound (`harness.known.sounds`)."""
    at_ms: float | None = None
    anchor: Anchor = "end"


ANSWER: Final = Part("answer")


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Everything that an agent of known behaviour does in each turn."""

    name: str
    definition: str
    parts: tuple[Part, ...] = (ANSWER,)
    delay_ms: float = DELAY_MS
    bed: Bed = "none"
    pace: float = 2.0
    """Speed at which a reply's messages follow each other, as a multiple of real time; 0: all at once."""
    lead_ms: float = 0.0
    """Digital silence that is sent right before the answer, in the same stream."""
    silent_ms: float = 0.0
    """Digital silence within the answer, at its `GAP_AT_MS`."""
    late_ms: float = 0.0
    """Lateness of the answer's sound from `GAP_AT_MS` on."""
    stall_ms: float = 0.0
    """A stall of a bed while the caller speaks, after which all that was due comes at once."""
    yields_ms: float | None = None
    """Delay from a caller's interruption to the agent's silence; None: it talks on."""
    hangs_up_ms: float | None = None
    """Time within the answer at which it ends the call."""
    mistake: Mistake | None = None
    """A wrong statement about its own sound. A tool that refuses such a turn is right."""

    def at_ms(self, part: Part) -> float:
        """The time from the part's anchor to where its sound begins."""
        return self.delay_ms if part.at_ms is None else part.at_ms


GAP_AT_MS: Final = 680.0
"""Within a word of every answer, where nobody pauses, and late enough that what precedes it is no listener's murmur."""
_ALL: Final = (
    Behaviour("fixed", "The answer begins at the delay after the caller's spoken end, and nothing else sounds."),
    Behaviour("leading-silence", "400 ms of digital silence are sent before the answer, in its stream.", lead_ms=400.0),
    Behaviour("click", "A click of 2 ms precedes the answer.", (Part("click", 150.0), ANSWER)),
    Behaviour("earcon", "Two soft notes of 180 ms precede the answer.", (Part("earcon", 200.0), ANSWER)),
    Behaviour("breath", "A breath precedes the answer.", (Part("breath", 250.0), ANSWER), 900.0),
    Behaviour("filler", "A filler in words, and later the answer.", (Part("filler", 300.0), ANSWER), 3_000.0),
    Behaviour("murmur", "A murmur without words, and later the answer.", (Part("murmur", 200.0), ANSWER), 1_400.0),
    Behaviour("comfort-noise", "Noise of −62 dB of full scale all call long, and the answer in it.", bed="noise"),
    Behaviour("hold-music", "Music until shortly before the answer.", (Part("music", 200.0), ANSWER), 2_500.0),
    Behaviour("dc", "A constant offset of −24 dB of full scale all call long, and the answer on it.", bed="dc"),
    Behaviour("cut-pause", "Words that begin 300 ms into the first pause of a turn, and the answer after its end.",
              (Part("cut", 300.0, "pause"), ANSWER)),
    Behaviour("cut-over", "Words that begin 600 ms after the caller does, and the answer after the end.",
              (Part("cut", 600.0, "begin"), ANSWER)),
    Behaviour("yields-60", "A long answer that ends 60 ms after the caller interrupts it.",
              (Part("long"),), pace=1.0, yields_ms=60.0),
    Behaviour("yields-400", "A long answer that ends 400 ms after the caller interrupts it.",
              (Part("long"),), pace=1.0, yields_ms=400.0),
    Behaviour("never-yields", "A long answer that goes on when the caller interrupts it.", (Part("long"),), pace=1.0),
    Behaviour("gap", "350 ms of digital silence are sent within a word of the answer.", silent_ms=350.0),
    Behaviour("underrun", "The answer's sound is late by 350 ms from within a word on.", pace=1.0, late_ms=350.0),
    Behaviour("stall", "Silence is sent without end; 700 ms of it, due while the caller speaks, come late and at once.",
              bed="silence", stall_ms=700.0),
    Behaviour("at-once", "All sound of the answer is sent at once.", pace=0.0),
    Behaviour("two-replies", "The answer, and another reply later.", (ANSWER, Part("second", 4_000.0))),
    Behaviour("late-greeting", "A greeting 1.5 s after the call opens; then an answer to each turn.",
              (Part("greeting", 1_500.0, "open"), ANSWER)),
    Behaviour("no-reply", "Nothing is said.", ()),
    Behaviour("hangs-up", "The call is ended 600 ms into the answer.", hangs_up_ms=600.0),
    Behaviour("echo", "The caller's own sound comes back 120 ms later and 30 dB fainter; and the answer.", bed="echo"),
    Behaviour("wrong-rate", "The answer's sound has half the stated rate.", mistake="rate"),
    Behaviour("stereo", "The answer's sound has two channels where one is stated.", mistake="stereo"),
    Behaviour("byte-order", "The answer's samples have their bytes in the wrong order.", mistake="byte-order"),
)  # fmt: skip
BEHAVIOURS: Final = MappingProxyType({each.name: each for each in _ALL})
FIXED_MS: Final = (100, 200, 300, 500, 800, 1_200, 2_000, 2_500, 4_000)
"""The delays of the fixed row: within, at and over half a second, and on both sides of the 1.5 s of silence after which some
tools start their clock."""


def behaviour(name: str, delay_ms: float | None = None) -> Behaviour | None:
    """The behaviour of a name, or of a name with the delay of its answer behind a dash (`fixed-300`); None if there is none."""
    found = BEHAVIOURS.get(name)
    if found is None and (named := re.fullmatch(r"(.+)-(\d+)", name)):
        found, delay_ms = BEHAVIOURS.get(named[1]), float(named[2])
    if found is None or delay_ms is None:
        return found
    return replace(found, delay_ms=max(delay_ms, SHORTEST_MS))

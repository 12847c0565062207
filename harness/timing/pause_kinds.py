"""Kind of a pause, in mid-sentence or after a sentence, by the caller's text.

A pause after a finished sentence is where people's detectors go wrong most, so the two are reported separately. Where a pause
is marked in the text, its place among the words is known. A gap without a mark is somewhere between two marks: if no sentence
ends in between, it is in mid-sentence, and otherwise nobody can know without listening. Then it is unknown; it is not guessed
from its time.
"""

import re
from dataclasses import replace
from typing import Final

from harness.scenarios.pauses import PAUSE
from harness.timing.figures import Endpointing, InnerPause, PauseKind, TurnTiming

_CLOSING: Final = r"[\"'”’»)\]]*"
_FINISHED: Final = re.compile(rf"(?<![.…!?。！？])[.!?。！？]++{_CLOSING}\s*$")
"""Three dots are a hesitation: the speaker means to go on."""
_TRAILS_OFF: Final = re.compile(rf"(?<!\.)\.\.++{_CLOSING}\s*$")
_ENDS_INSIDE: Final = re.compile(rf"[.!?。！？…]{_CLOSING}\s+\S")


def with_kinds(timing: TurnTiming, text: str | None) -> TurnTiming:
    """The same turn with the kind of each inner pause, by the turn's marked text (None where there is none)."""
    found = timing.endpointing
    if found is None or not found.pauses:
        return timing
    kinds = kinds_of(found, timing.pauses_marked, text)
    pauses = tuple(replace(pause, kind=kind) for pause, kind in zip(found.pauses, kinds, strict=True))
    return replace(timing, endpointing=replace(found, pauses=pauses))


def kinds_of(found: Endpointing, marked: int, text: str | None) -> tuple[PauseKind, ...]:
    """The kind of each pause. `marked`: number of pauses that the recording has marked, including short ones."""
    stretches = PAUSE.split(text)[::2] if text and any(c.isalnum() for c in PAUSE.sub("", text)) else []
    if len(stretches) == marked + 1:
        return tuple(_kind(pause, stretches[pause.place]) for pause in found.pauses)
    if len(stretches) == 1:
        # A recording's pauses were found in its sound; its text does not show their place.
        return tuple(_somewhere_in(stretches[0]) for _ in found.pauses)
    return tuple("unknown" for _ in found.pauses)


def _kind(pause: InnerPause, stretch: str) -> PauseKind:
    if not pause.marked:
        return _somewhere_in(stretch)
    return "after_sentence" if _is_finished(stretch) else "mid_sentence"


def _somewhere_in(stretch: str) -> PauseKind:
    return "unknown" if _ENDS_INSIDE.search(stretch) else "mid_sentence"


def _is_finished(stretch: str) -> bool:
    return _FINISHED.search(stretch) is not None and _TRAILS_OFF.search(stretch) is None

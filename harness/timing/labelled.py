"""The sounds of one turn with the kinds that they have in it: the reply's from `harness.replies.kinds`, the others their own.

The same voice may be another thing in another turn, so kinds are given for each turn anew, and again when the words of the call
are known. An utterance is parted at its pauses for this, and its parts of one kind are one utterance again.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.agents.connection import Mark
from harness.agents.reply_signs import sign_of
from harness.replies.kinds import Part, Word, kinds_of
from harness.timing.utterances import Sound, parts_of

REPLIES: Final = ("filler", "answer")
"""Kinds that are the reply; `speech` of older runs is an answer."""
TALK: Final = (*REPLIES, "withdrawn")
"""Kinds that take the floor. A breath and a backchannel leave it with the caller."""


def labelled(
    samples: NDArray[np.float32],
    sounds: Sequence[Sound],
    ms_of: Callable[[int], float],
    begin_ms: float,
    words: Sequence[Word] | None,
    tools: Sequence[tuple[float, float]],
) -> list[Sound]:
    """The sounds of a turn, in order, each with its kind. `ms_of`: a sample in ms relative to the spoken end."""
    parts = [
        (part, Part(ms_of(part.start), ms_of(part.end), k > 0, part.ending))
        for sound in sounds
        if sound.kind == "speech"
        for k, part in enumerate(parts_of(samples, sound))
    ]
    kinds = kinds_of([span for _, span in parts], begin_ms=begin_ms, words=words, tools=tools)
    found: list[Sound] = []
    for (part, span), kind in zip(parts, kinds, strict=True):
        if span.goes_on and found[-1].kind == kind != "backchannel":
            found[-1] = replace(part, start=found[-1].start, kind=kind)
        else:
            found.append(replace(part, kind=kind))
    return sorted([*found, *(s for s in sounds if s.kind != "speech")], key=lambda s: s.start)


def tool_spans(found: Sequence[Mark]) -> list[tuple[int, int | None]]:
    """The times (ns, of the caller) from which to which a function call was in flight; None for one whose end nobody said."""
    spans: list[tuple[int, int | None]] = []
    calls = 0
    for mark in sorted(found, key=lambda m: m.arrival_ns):
        sign = sign_of(mark)
        if sign == "tool_called":
            if not calls:
                spans.append((mark.arrival_ns, None))
            calls += 1
        elif sign == "tool_done" and calls:
            calls -= 1
            if not calls:
                spans[-1] = (spans[-1][0], mark.arrival_ns)
    return spans

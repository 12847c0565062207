"""The kind of each stretch of an agent's voice: backchannel, filler or answer.

A listener's "mm-hm" leaves the floor with the speaker (Yngve 1970; Schegloff 1982), so an agent that murmurs into each silence
has answered nothing. A filler ("let me check") announces that speech will be late (Clark & Fox Tree 2002): it begins the
reply, and not its answer. The words decide where they are known. Without them a short voice that is alone, with more to come,
is a backchannel: otherwise a figure could be bought with a murmur. Kinds are decided anew for each turn of the caller, on
parts of voice (`Part`) in ms relative to the end of the turn.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from harness.recording.withdrawn import SAID_MS
from harness.replies.phrases import are_said_alone, asks_to_wait, is_continuer, is_empty, is_misheard

ReplyKind = Literal["backchannel", "filler", "answer"]
Word = tuple[str, float, float]
"""(word, start_ms, end_ms), relative to the end of the caller's turn."""

_Said = Sequence[Sequence[str]] | None
"""The words of each part; None where they are not known."""

PARTED_MS: Final = 250.0
"""Shorter gaps are joints of fluent speech: closures of plosives, and most pauses at a comma."""
APART_MS: Final = 500.0
"""Longer gaps part utterances: between sentences synthesisers leave 200–400 ms."""
MURMUR_MS: Final = 500.0
"""Without words, a voice shorter than this is a backchannel although the next is nearer than `APART_MS`."""
BACKCHANNEL_MS: Final = SAID_MS
"""Longest backchannel that stands alone: "mm-hm", "oh no", "I see". Longer voice takes the floor."""
WORD_ERROR_MS: Final = 200.0
"""A transcriber's time of a word is wrong by up to this."""


Ending = Literal["itself", "taken_back", "interrupted"]
"""How a voice ended: by itself, taken back (`clear`) by the agent of its own accord, or with somebody speaking into it."""


class Span(Protocol):
    """A stretch of sound in ms relative to the end of the caller's turn."""

    @property
    def start_ms(self) -> float: ...
    @property
    def end_ms(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of voice, `PARTED_MS` or more from the next."""

    start_ms: float
    end_ms: float
    goes_on: bool = False
    """True if it belongs to the utterance of the part before it."""
    ending: Ending = "itself"


def kinds_of(
    parts: Sequence[Part], *, begin_ms: float, words: Sequence[Word] | None = None, tools: Sequence[tuple[float, float]] = ()
) -> tuple[ReplyKind, ...]:
    """The kind of each part, in order.

    `begin_ms`: where the caller's turn begins; what sounds already is the tail of an earlier reply. `words`: of the whole call,
    None if it was not transcribed. `tools`: spans in which a function call was in flight.
    """
    said = _said_in(parts, words or ())
    kinds: list[ReplyKind] = ["answer"] * len(parts)
    talk_ms = -math.inf
    at = 0
    while at < len(parts):
        if _is_backchannel(parts, at, talk_ms, begin_ms, said):
            kinds[at] = "backchannel"
            at += 1
            continue
        past = at + 1
        while past < len(parts) and _goes_on(parts, past, begin_ms, said):
            past += 1
        talk_ms = parts[past - 1].end_ms
        if talk_ms > 0:
            if not _is_filler(parts, at, past, begin_ms, said, tools):
                break
            kinds[at:past] = ["filler"] * (past - at)
        at = past
    return tuple(kinds)


def _is_backchannel(parts: Sequence[Part], at: int, talk_ms: float, begin_ms: float, said: _Said) -> bool:
    """True if a part is a backchannel. `talk_ms`: the end of the voice before it that is none."""
    part = parts[at]
    more = at + 1 < len(parts)
    length_ms = part.end_ms - part.start_ms
    if part.start_ms < begin_ms or part.ending != "itself":
        return False
    if more and parts[at + 1].start_ms - part.end_ms < PARTED_MS:
        return False
    words = said[at] if said is not None else ()
    doubtful = is_misheard(words) and length_ms < (BACKCHANNEL_MS if part.start_ms < 0 else MURMUR_MS)
    if part.start_ms < 0:
        if length_ms >= BACKCHANNEL_MS or part.start_ms - talk_ms < APART_MS or not (doubtful or is_empty(words)):
            return False
        return more or part.end_ms <= 0 or is_continuer(words, wordless=True)
    if part.start_ms - talk_ms < PARTED_MS:
        return False
    if more and length_ms < MURMUR_MS and not are_said_alone(words):
        # Nobody answers in so short a phrase and pauses: else the first syllables of any sentence would buy a figure.
        return True
    if words and not doubtful:
        return is_continuer(words, wordless=not more)
    if not more:
        return False
    if said is not None and length_ms < BACKCHANNEL_MS:
        return True  # The transcriber heard words elsewhere, and none here.
    # Another murmur in the gap makes it no narrower.
    then = next((later for later in parts[at + 1 :] if later.end_ms - later.start_ms >= MURMUR_MS), parts[-1])
    return length_ms < BACKCHANNEL_MS and then.start_ms - part.end_ms >= APART_MS


def _goes_on(parts: Sequence[Part], at: int, begin_ms: float, said: _Said) -> bool:
    """True if a part belongs to the utterance of the part before it."""
    return parts[at].goes_on and not _is_backchannel(parts, at, parts[at - 1].end_ms, begin_ms, said)


def _is_filler(
    parts: Sequence[Part], at: int, past: int, begin_ms: float, said: _Said, tools: Sequence[tuple[float, float]]
) -> bool:
    """True if the utterance of the parts from `at` to before `past` begins a reply whose answer is still to come."""
    words = [word for one in said[at:past] for word in one] if said is not None else None
    end_ms = parts[past - 1].end_ms
    then = next((k for k in range(past, len(parts)) if not _is_backchannel(parts, k, end_ms, begin_ms, said)), None)
    if then is None:
        return words is not None and asks_to_wait(words)
    waits = any(start < parts[then].start_ms and end > end_ms for start, end in tools)
    return parts[past - 1].ending == "taken_back" or waits or (words is not None and is_empty(words))


def _said_in(parts: Sequence[Part], words: Sequence[Word]) -> list[list[str]] | None:
    """The words of each part, nearest by their middles; None where no word is near any part."""
    found: list[list[str]] = [[] for _ in parts]
    for word in words:
        place = place_of(word, parts)
        if place is not None:
            found[place].append(word[0])
    return found if any(found) else None


def place_of(word: Word, spans: Sequence[Span]) -> int | None:
    """The number of the span that a word is nearest to with its middle; None where all are further than `WORD_ERROR_MS`."""
    middle = (word[1] + word[2]) / 2
    away = [max(span.start_ms - middle, middle - span.end_ms, 0.0) for span in spans]
    return away.index(min(away)) if away and min(away) <= WORD_ERROR_MS else None

"""Cost of an event in words: words of the agent that were not heard, and words that it said twice.

Sound alone cannot distinguish an agent that goes on where it stopped from one that begins again, or from one that skips
words. The words can: those that the agent reports, compared with those that were heard. A transcriber makes errors too,
mostly one word here or there, so only a run of `FEWEST_WORDS` counts.
"""

from collections.abc import Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from typing import Final

from harness.replies.phrases import plain
from harness.timing.figures import EventTaken, TurnTiming
from harness.timing.words import Word

FEWEST_WORDS: Final = 3
"""A choice: the transcriber's errors are single words; three in a row that are missing, or said again, are the agent's."""


def with_event_words(timing: TurnTiming, heard: Sequence[Word], said: str | None) -> TurnTiming:
    """The same figures with the words that an event cost. `said`: the reply as the agent reports it, None where it does not.

    A reply that fell silent at the event after its last word, with nothing taken back, had come to its end: `ended`.
    """
    event = timing.event
    if event is None or event.fate == "not_sounding":
        return timing
    words = [(bare, (start + end) / 2 * 1000) for w, start, end in heard for bare in _bare(w)]
    lost = _lost(_bare(said), [w for w, _ in words]) if said else None
    if event.fate == "stopped" and lost == 0 and not event.cleared:
        return replace(timing, event=replace(event, fate="ended", stop_ms=None, lost_words=0))
    return replace(timing, event=replace(event, lost_words=lost, repeated_words=_repeated(event, words)))


def _lost(said: Sequence[str], heard: Sequence[str]) -> int:
    """Number of the words said that are missing from those heard, in runs of `FEWEST_WORDS` and more."""
    runs = [
        (of_said - to_said) - (of_heard - to_heard)
        for _, to_said, of_said, to_heard, of_heard in SequenceMatcher(None, said, heard, autojunk=False).get_opcodes()
    ]
    return sum(run for run in runs if run >= FEWEST_WORDS)


def _repeated(event: EventTaken, words: Sequence[tuple[str, float]]) -> int:
    """Number of words at the start of its new speech that had been heard before it stopped."""
    if event.fate != "spoke_again" or event.stop_ms is None:
        return 0
    stopped_ms = event.at_ms + event.stop_ms
    before = [w for w, at_ms in words if at_ms <= stopped_ms]
    after = [w for w, at_ms in words if at_ms > stopped_ms]
    found = SequenceMatcher(None, before, after[: len(before) + FEWEST_WORDS], autojunk=False).find_longest_match()
    return found.size if found.size >= FEWEST_WORDS and found.b < FEWEST_WORDS else 0


def _bare(text: str) -> list[str]:
    return [p for p in (plain(w) for w in text.replace("-", " ").split()) if p]

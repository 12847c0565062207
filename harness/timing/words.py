"""Words of the reply: when the first, and the first *of substance*, were heard, and what an event cost in words.

An agent can buy a good first-audio figure with an empty opener ("I'm so sorry to hear that"), so the first word about *this*
caller has a figure of its own (`harness.replies.phrases` lists the empty ones). Words also distinguish an agent that goes on
where it stopped from one that begins again or skips words; a transcriber's errors are single words, so only runs of
`FEWEST_WORDS` count.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from typing import Final

from harness.replies.phrases import opening_length, plain_words
from harness.timing.figures import EventTaken, TurnTiming

Word = tuple[str, float, float]
"""(word, start_s, end_s) on the recording's timeline."""

LATE_S: Final = 0.5
"""A recogniser's time of a word is wrong by up to 0.2 s; the caller's next turn, and the reply to it, come later than this."""


def with_words(timing: TurnTiming, words: Sequence[Word]) -> TurnTiming:
    """The same figures with `first_word_ms` and `first_substance_ms` from the transcript of the reply.

    Words that ended before the agent's first sound of this turn, or begin after its last, belong to something else and are left
    out.
    """
    reply = _of_this_reply(timing, words)
    if not reply or timing.ttfa_ms is None:
        return replace(timing, first_word_ms=None, first_substance_ms=None, transcribed=True)
    skipped = opening_length([w for w, _, _ in reply])
    return replace(
        timing,
        transcribed=True,
        first_word_ms=_after_spoken_end(timing, reply[0]),
        first_substance_ms=_after_spoken_end(timing, reply[skipped]) if skipped < len(reply) else None,
    )


def _of_this_reply(timing: TurnTiming, words: Sequence[Word]) -> list[Word]:
    onset_ms = timing.signed_ms if timing.signed_ms is not None else timing.ttfa_ms
    if onset_ms is None:
        return []
    onset_s = (timing.spoken_end_ms + onset_ms) / 1000
    end_s = math.inf if timing.reply_end_ms is None else (timing.spoken_end_ms + timing.reply_end_ms) / 1000 + LATE_S
    return [w for w in words if w[2] > onset_s and w[1] < end_s]


def _after_spoken_end(timing: TurnTiming, word: Word) -> float:
    """Time of a word, not before the sound begins, because a recogniser's time may be up to 0.2 s too early."""
    started_ms = word[1] * 1000 - timing.spoken_end_ms
    return started_ms if timing.ttfa_ms is None else max(started_ms, timing.ttfa_ms)


FEWEST_WORDS: Final = 3
"""A choice: the transcriber's errors are single words; three in a row that are missing, or said again, are the agent's."""


def with_event_words(timing: TurnTiming, heard: Sequence[Word], said: str | None) -> TurnTiming:
    """The same figures with the words that an event cost. `said`: the reply as the agent reports it, None where it does not.

    A reply that fell silent at the event after its last word, with nothing taken back, had come to its end: `ended`.
    """
    event = timing.event
    if event is None or event.fate == "not_sounding":
        return timing
    words = [(bare, (start + end) / 2 * 1000) for w, start, end in heard for bare in plain_words(w)]
    lost = _lost(plain_words(said), [w for w, _ in words]) if said else None
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

"""Sound that an agent takes back (`clear`) before anybody could understand it: *withdrawn sound*, which is no answer.

An agent that decides too early begins to speak, notices that it should not have, and drops the audio that it had sent. A
listener hears a blip and goes on waiting, so the wait goes on too, and the agent's next words are the answer. Otherwise a false
start would be an agent's best figure, and more of them would be better.
"""

from collections.abc import Iterable
from typing import Final

from harness.timeline import NS_PER_MS

UNDERSTOOD_MS: Final = 200.0
"""Shorter sound than this was not understood when it was taken back.

A listener who knows the topic recognises a word from its first 199 ms on average, without that from 333 (Grosjean 1980,
*Perception & Psychophysics* 28); a syllable of English conversation lasts 200 ms on average (Greenberg 1999, *Speech
Communication* 29). Of nine answers of one word or two in the voice that ships the shortest, "Oh.", lasts 228 ms. Of 20 replies
of that voice, cut off this long after their onset, Whisper base had the first word right: after 50 ms none, 100 ms 4, 150 ms
10, 200 ms 14, 250 ms 16, 300 ms 17, 600 ms all. So below it much of the begun word is a guess and no whole word is lost; longer
sound counts, though it was taken back."""
TAKEN_BACK_MS: Final = 20.0
"""A `clear` this long after the last sound still takes it back: an agent that sends in real time has one frame in transit."""


def is_withdrawn(start_ns: int, end_ns: int, clears_ns: Iterable[int]) -> bool:
    """True if sound heard from one time to another was taken back before it could be understood."""
    if end_ns - start_ns >= UNDERSTOOD_MS * NS_PER_MS:
        return False
    return any(start_ns < clear_ns <= end_ns + TAKEN_BACK_MS * NS_PER_MS for clear_ns in clears_ns)

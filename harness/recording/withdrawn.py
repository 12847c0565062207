"""Sound that an agent takes back (`clear`) before it has said anything: *withdrawn sound*, which is no answer.

An agent that decides too early begins to speak, notices that it should not have, and drops the audio that it had sent. A
listener hears a blip and goes on waiting, so the wait goes on too, and the agent's next words are the answer. Otherwise a false
start would be an agent's best figure, and more of them would be better.
"""

from collections.abc import Iterable
from typing import Final

from harness.timeline import NS_PER_MS

SAID_MS: Final = 700.0
"""Shorter sound than this said nothing when it was taken back; the same bound as a backchannel's (`harness.replies.kinds`).

Whether a begun word was understood is no bound: it could be passed with a syllable. (Of 20 replies of the voice that ships, cut
off this long after their onset, Whisper base had the first word right: after 100 ms 4, 200 ms 14, 300 ms 17, 600 ms all. So a
syllable of 205 ms that is taken back was mostly understood, and answered nothing.) The shortest utterances that a listener can
take for a turn, "oh no", "I see", are within this bound; longer sound began an utterance, though it was taken back."""
TAKEN_BACK_MS: Final = 20.0
"""A `clear` this long after the last sound still takes it back: an agent that sends in real time has one frame in transit."""


def was_taken_back(start_ns: int, end_ns: int, clears_ns: Iterable[int]) -> bool:
    """True if sound heard from one time to another was broken off by a `clear`."""
    return any(start_ns < clear_ns <= end_ns + TAKEN_BACK_MS * NS_PER_MS for clear_ns in clears_ns)


def is_withdrawn(start_ns: int, end_ns: int, clears_ns: Iterable[int]) -> bool:
    """True if sound heard from one time to another was taken back before it had said anything."""
    return end_ns - start_ns < SAID_MS * NS_PER_MS and was_taken_back(start_ns, end_ns, clears_ns)

"""Words that an agent reports of a session: the words that it understood, and those that it says it spoke.

Reported words are shown beside the heard words and never replace them. Only final transcripts count, and of a conversation of
several spoken turns only those of the last (up to an interruption of its reply), because that is the turn that is judged. A
full-duplex agent reports its backchannels in the same way: those that came while the caller spoke are no part of the reply.
"""

from typing import Literal

from harness.recording.record import Recording
from harness.replies.phrases import is_continuer, plain_words
from harness.timeline import samples_to_ns


def said(recording: Recording) -> str | None:
    """The reply to the last caller turn as the agent's language model wrote it; None when nothing was reported."""
    return _reported(recording, "assistant")


def understood(recording: Recording) -> str | None:
    """The last caller turn as the agent's recogniser understood it; None when nothing was reported."""
    return _reported(recording, "user")


def _reported(recording: Recording, role: Literal["user", "assistant"]) -> str | None:
    caller = recording.caller
    begins_ns = caller.t0_ns + samples_to_ns(caller.speech_start_sample, caller.rate_hz)
    interruptions = [t for t in caller.turns if t.kind == "barge_in"]
    ends_ns = caller.t0_ns + samples_to_ns(interruptions[0].start_sample, caller.rate_hz) if interruptions else None
    found = [
        t
        for t in recording.transcripts
        if t.role == role and t.final and t.arrival_ns >= begins_ns and (ends_ns is None or t.arrival_ns < ends_ns)
    ]
    if recording.full_duplex and role == "assistant":
        over_ns = caller.t0_ns + samples_to_ns(caller.speech_end_sample, caller.rate_hz)
        found = [t for t in found if t.arrival_ns >= over_ns or not is_continuer(plain_words(t.text))] or found
    return " ".join(text for t in found if (text := t.text.strip())) or None

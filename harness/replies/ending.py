"""The instant at which a reply is over, for a caller who waits to speak or to hang up.

Silence alone cannot tell the end of a reply from a tool at work, so the wire is believed first: most say when a reply begins,
when all its sound has been sent, and when a function runs (`harness.agents.reply_signs`). A sign of the end counts only if it
came after the last speech that was heard. On a wire that says nothing, the reply is over after a silence longer than the
pauses inside replies, which depends on how much was said. Murmurs alone ("Mm-hm.") never end a reply: the caller waits as
long as for any reply. Nor do those after it prolong it: a full-duplex agent may murmur into every silence.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from harness.agents.reply_signs import ReplySign
from harness.replies.kinds import MURMUR_MS
from harness.timeline import NS_PER_MS

LITTLE_MS: Final = 3_000
"""Speech that may be a filler: stock phrases are one or two clauses ("Let me think about that for a moment.": 1.5 s)."""
AFTER_LITTLE_MS: Final = 3_800
"""The silence after it. A choice between two costs: a tool that answers later loses its reply to the next turn, and every short
reply on a silent wire makes the call longer by this. It is over the 1 to 3 s that tools of public reports take, and below the
4 s after which the most impatient bots ask "Are you still there?"."""
AFTER_MORE_MS: Final = 1_500
"""The silence after a longer reply. Synthesisers leave 0.2 to 0.4 s between sentences; a model that falls behind its own voice
leaves more."""
UNFINISHED_MS: Final = 6_000
"""A wire that said that a reply begins, and nothing since, is believed for this long."""
TOOL_MS: Final = 30_000
"""A function that is said to run is waited for this long: twice a caller's whole patience, since its agent does say so."""
_COVERED_NS: Final = 300 * NS_PER_MS
"""Sound may follow the sign of its end by this: on a line of its own (RTP) it is behind by a jitter buffer."""


class Stretch(Protocol):
    """A stretch of speech, as heard."""

    @property
    def start_ns(self) -> int: ...
    @property
    def end_ns(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Sign:
    """A sign of the wire, and the time at which all sound that came before it has been played."""

    sign: ReplySign
    at_ns: int
    played_ns: int


@dataclass(frozen=True, slots=True)
class Asked:
    """A turn to which the agent replies: when the caller began it, and ended it."""

    start_ns: int
    end_ns: int


def reply_over_ns(
    asked: Asked, speech: Sequence[Stretch], signs: Sequence[Sign], no_reply_ms: float, ends_after_ms: float | None = None
) -> int | None:
    """The time at which the reply is over if nothing more comes; None while nothing was heard that can be one.

    `signs` are those of the whole call. `no_reply_ms` is the caller's patience with an agent that says nothing,
    `ends_after_ms` the silence that a profile names in place of the two defaults.
    """
    said = [s for s in speech if s.end_ns > asked.end_ns and not _over_the_end(s, asked)]
    if not said:
        return None
    end_ns = floor_end_ns(said)
    said_ns = sum(s.end_ns - max(s.start_ns, asked.end_ns) for s in said if not is_murmur(s))
    murmur = said_ns < MURMUR_MS * NS_PER_MS
    now = [s for s in signs if s.at_ns >= asked.start_ns]
    called_ns = _tool_in_flight_ns(now, said)
    if called_ns is not None:
        return max(end_ns, called_ns + TOOL_MS * NS_PER_MS)
    last = next((s for s in reversed(now) if s.sign in ("begun", "done")), None)
    if last is not None and last.sign == "done" and last.played_ns + _COVERED_NS >= end_ns:
        if not murmur or any(s.sign == "begun" for s in now):
            return max(end_ns, last.played_ns)
    elif last is not None and last.sign == "begun" and _says_ends(signs, asked):
        return max(end_ns, last.at_ns) + UNFINISHED_MS * NS_PER_MS
    if murmur:
        return max(end_ns, asked.end_ns + round(no_reply_ms * NS_PER_MS))
    if ends_after_ms is None:
        ends_after_ms = AFTER_LITTLE_MS if said_ns < LITTLE_MS * NS_PER_MS else AFTER_MORE_MS
    return end_ns + round(ends_after_ms * NS_PER_MS)


def floor_end_ns(speech: Sequence[Stretch]) -> int:
    """The end of the last stretch that is no murmur; of the last one where all are."""
    return next((s.end_ns for s in reversed(speech) if not is_murmur(s)), speech[-1].end_ns)


def is_murmur(stretch: Stretch) -> bool:
    """True for a stretch too short to take the floor, as far as can be known without its words."""
    return stretch.end_ns - stretch.start_ns < MURMUR_MS * NS_PER_MS


def _over_the_end(stretch: Stretch, asked: Asked) -> bool:
    """True for a murmur over the caller's last word: it is no reply to it."""
    return stretch.start_ns < asked.end_ns and is_murmur(stretch)


def _tool_in_flight_ns(signs: Sequence[Sign], said: Sequence[Stretch]) -> int | None:
    """The time at which a function was called that has not returned; None if there is none.

    A wire that never says that it returned has shown it by a new reply, or by speech too long to fill a wait.
    """
    called_ns: int | None = None
    for sign in signs:
        if sign.sign == "tool_called":
            called_ns = sign.at_ns
        elif sign.sign in ("tool_done", "begun"):
            called_ns = None
    if called_ns is None or any(s.start_ns > called_ns and s.end_ns - s.start_ns >= LITTLE_MS * NS_PER_MS for s in said):
        return None
    return called_ns


def _says_ends(signs: Sequence[Sign], asked: Asked) -> bool:
    """False for a wire that said of earlier replies that they began, and of none that it was done."""
    began_before = any(s.sign == "begun" and s.at_ns < asked.start_ns for s in signs)
    return not began_before or any(s.sign == "done" for s in signs)

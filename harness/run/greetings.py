"""Agents that greet: how a run finds them, and how its caller treats a greeting.

A caller that talks over a greeting would be charged to the agent as a cut-in, so the caller lets it end. A profile can say
that its agent greets; otherwise the first call waits `FIND_OUT_S`, and no longer, since some agents hang up on a silent line.
A later greeting cannot be told from a cut-in by its sound: the same call is made again by a caller that waits as long as any
reply may take. If the agent greets then, that call counts and every later one waits; if not, it cut in, and the first call
counts.
"""

from typing import Final, Literal

from harness.agents.profile import AgentProfile
from harness.caller import Greeting
from harness.caller.listener import Listener
from harness.recording.record import Recording
from harness.replies.ending import is_murmur
from harness.timeline import NS_PER_MS, NS_PER_S, samples_to_ns
from harness.timing.figures import NO_REPLY_MS

FIND_OUT_S: Final = 3.0
"""The first call's wait for a greeting. A choice: a greeting is a reply without endpointing, and few agents take longer for
one; it costs each agent of a run 2.5 s, once. Bots that ask "Are you still there?" do so after 4 s of silence at the earliest,
and that is no greeting."""
KNOWN_S: Final = NO_REPLY_MS / 1000
"""The wait for a greeting that is known or possible: as long as for any reply."""
LATE_MS: Final = 200
"""Six windows of the detector, four more than it takes at the least."""
FRAME_MS: Final = 20.0
"""Tolerance: a caller begins on a frame's edge, up to this long before or after the end of the wait."""


class Greetings:
    """The knowledge about greetings of the agents of one run."""

    def __init__(self) -> None:
        self._known: dict[str, Literal["silent", "doubtful", "never", "greets"]] = {}
        """By agent: silent for `FIND_OUT_S`, or spoke before its caller had finished, or silent for `KNOWN_S`."""

    def of(self, profile: AgentProfile) -> Greeting | None:
        """The treatment of a greeting in the next call to an agent."""
        greets = profile.speaks_first
        if greets is False:
            return None
        if greets:
            return Greeting(KNOWN_S)
        match self._known.get(profile.name):
            case None:
                return Greeting(FIND_OUT_S)
            case "greets" | "doubtful":
                return Greeting(KNOWN_S)
            case "silent" | "never":
                # An agent that was silent so far may still greet later: a greeting that has begun is heard to its end.
                return Greeting(0.0)

    def learn(self, agent: str, recording: Recording) -> None:
        """Record what a call shows about an agent's greeting; an agent that has greeted once counts as one that greets."""
        before = self._known.get(agent)
        if not recording.caller.turns or before == "greets":
            return
        if spoke_first(recording):
            self._known[agent] = "greets"
        elif _waited_long(recording):
            self._known[agent] = "never"
        elif before != "never":
            self._known[agent] = "doubtful" if _sounded_by(recording, _turn_ns(recording, end=True)) else before or "silent"

    def is_doubtful(self, profile: AgentProfile, recording: Recording) -> bool:
        """True if the agent spoke during the caller's turn and only a longer wait can show why. `learn` comes first."""
        if profile.speaks_first is not None or not recording.caller.turns or spoke_first(recording):
            return False
        in_doubt = self._known.get(profile.name) in ("doubtful", "greets")
        return in_doubt and not _waited_long(recording) and _sounded_by(recording, _turn_ns(recording, end=True))


def spoke_first(recording: Recording) -> bool:
    """True if the agent was heard to speak before its caller began."""
    return _sounded_by(recording, _turn_ns(recording))


def _sounded_by(recording: Recording, until_ns: int) -> bool:
    listener = Listener()
    clears = sorted(recording.clears_ns)
    for piece in recording.arrivals:
        if piece.arrival_ns >= until_ns:
            break
        while clears and clears[0] <= piece.arrival_ns:
            _clear(listener, clears.pop(0))
        sound = recording.agent_pcm[piece.offset_samples : piece.offset_samples + piece.count_samples]
        listener.hear(piece.arrival_ns, sound, recording.agent_rate_hz)
    for at_ns in clears:
        _clear(listener, at_ns)
    # A voice is known for one a little after it began.
    listener.advance(until_ns + LATE_MS * NS_PER_MS, None)
    # A backchannel into the caller's turn shows nothing of a greeting.
    duplex = recording.full_duplex and until_ns > _turn_ns(recording)
    return any(speech.start_ns < until_ns for speech in listener.speech if not (duplex and is_murmur(speech)))


def _clear(listener: Listener, at_ns: int) -> None:
    listener.advance(at_ns, None)
    listener.clear(at_ns)


def _turn_ns(recording: Recording, *, end: bool = False) -> int:
    """The time at which the caller's first turn began, or ended."""
    caller = recording.caller
    turn = caller.turns[0]
    return caller.t0_ns + samples_to_ns(turn.end_sample if end else turn.start_sample, caller.rate_hz)


def _waited_long(recording: Recording) -> bool:
    """True if the caller waited as long as any greeting may take."""
    return _turn_ns(recording) - recording.caller.t0_ns >= KNOWN_S * NS_PER_S - FRAME_MS * NS_PER_MS

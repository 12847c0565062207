"""Agents that speak first: whether one does, and how the caller of a run treats it.

Stock bots greet who connects. A caller that begins 0.5 s in talks over that, and the agent is charged for a cut-in that was
the caller's. So the caller lets a greeting end. Whether an agent greets can be said in its profile; else the calls find out.

The first call of a run waits long enough to hear most greetings begin, and no longer: some agents hang up on a silent line, or
ask whether anybody is there. A greeting that comes later still is heard while the caller speaks, where it cannot be told from a
cut-in by its sound. It can be told by waiting: the same call is made again, by a caller that says nothing for as long as any
reply may take. If the agent greets, that call counts and every later one waits; if it is silent, it cut in, and the first call
counts as it was. So a greeting is nobody's fault, and no cut-in is forgiven by being played again.
"""

from typing import Final, Literal

from harness.agents.profile import AgentProfile
from harness.caller import Greeting
from harness.caller.listener import Listener
from harness.recording.record import Recording
from harness.timeline import NS_PER_MS, NS_PER_S, samples_to_ns
from harness.timing.figures import NO_REPLY_MS

FIND_OUT_S: Final = 4.0
"""How long the first call waits for a greeting. A choice: a greeting is a reply without endpointing, and few take longer for
one; it costs each agent of a run 3.5 s, once."""
KNOWN_S: Final = NO_REPLY_MS / 1000
"""How long a greeting is waited for where there is one, or may be: as long as for any reply."""
FRAME_MS: Final = 20.0
"""A caller begins on a frame's edge, up to this much before or after the wait is over."""


class Greetings:
    """What is known of the agents of one run."""

    def __init__(self) -> None:
        self._known: dict[str, Literal["silent", "doubtful", "never", "greets"]] = {}
        """By agent: silent for `FIND_OUT_S`, or sounding before its caller had finished, or silent for `KNOWN_S`."""

    def of(self, profile: AgentProfile) -> Greeting | None:
        """How the next call to an agent treats its greeting."""
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
                # One that was silent so far may still speak first one day: what has begun is heard out.
                return Greeting(0.0)

    def learn(self, agent: str, recording: Recording) -> None:
        """Take note of what a call says of an agent's greeting; once heard to greet, it is one that greets."""
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
        """Whether a call, learned from already, was spoken into by its agent for a reason that only waiting can tell."""
        if profile.speaks_first is not None or not recording.caller.turns or spoke_first(recording):
            return False
        in_doubt = self._known.get(profile.name) in ("doubtful", "greets")
        return in_doubt and not _waited_long(recording) and _sounded_by(recording, _turn_ns(recording, end=True))


def spoke_first(recording: Recording) -> bool:
    """Whether anything audible of the agent arrived before its caller began."""
    return _sounded_by(recording, _turn_ns(recording))


def _sounded_by(recording: Recording, until_ns: int) -> bool:
    listener = Listener()
    clears = sorted(recording.clears_ns)
    for piece in recording.arrivals:
        if piece.arrival_ns >= until_ns:
            break
        while clears and clears[0] <= piece.arrival_ns:
            listener.clear(clears.pop(0))
        sound = recording.agent_pcm[piece.offset_samples : piece.offset_samples + piece.count_samples]
        listener.hear(piece.arrival_ns, sound, recording.agent_rate_hz)
    for at_ns in clears:
        listener.clear(at_ns)
    return listener.sound_end_ns is not None


def _turn_ns(recording: Recording, *, end: bool = False) -> int:
    """When the caller's first turn began, or ended."""
    caller = recording.caller
    turn = caller.turns[0]
    return caller.t0_ns + samples_to_ns(turn.end_sample if end else turn.start_sample, caller.rate_hz)


def _waited_long(recording: Recording) -> bool:
    """Whether the caller waited as long as any greeting may take."""
    return _turn_ns(recording) - recording.caller.t0_ns >= KNOWN_S * NS_PER_S - FRAME_MS * NS_PER_MS

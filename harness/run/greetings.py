"""Agents that speak first: whether one does, and how the caller of a run treats it.

Stock bots greet who connects. A caller that begins 0.5 s in talks over that, and the agent is charged for a cut-in that was
the caller's. So the caller lets a greeting end. Whether an agent greets can be said in its profile; else the first call of a
run waits long enough to hear one begin, and the calls after it wait only for an agent that did greet.
"""

from typing import Final

from harness.agents.profile import AgentProfile
from harness.caller import Greeting
from harness.caller.listener import Listener
from harness.recording.record import Recording
from harness.timeline import samples_to_ns

FIND_OUT_S: Final = 4.0
"""How long the first call waits for a greeting. A choice: a greeting is a reply without endpointing, and who takes longer
for one needs `greets = true`; it costs each agent of a run 3.5 s, once."""
KNOWN_S: Final = 15.0
"""How long a greeting is waited for where there is one: as long as for any reply."""


class Greetings:
    """What is known of the agents of one run."""

    def __init__(self) -> None:
        self._heard: dict[str, bool] = {}

    def of(self, profile: AgentProfile) -> Greeting | None:
        """How the next call to an agent treats its greeting."""
        greets = profile.speaks_first
        if greets is False:
            return None
        if greets:
            return Greeting(KNOWN_S)
        heard = self._heard.get(profile.name)
        # One that was silent so far may still speak first one day: what has begun is heard out.
        return Greeting(FIND_OUT_S if heard is None else KNOWN_S if heard else 0.0)

    def learn(self, agent: str, recording: Recording) -> None:
        """Take note of whether the agent spoke before its caller did; once heard to greet, it is one that greets."""
        if recording.caller.turns:
            self._heard[agent] = self._heard.get(agent, False) or spoke_first(recording)


def spoke_first(recording: Recording) -> bool:
    """Whether anything audible of the agent arrived before its caller began."""
    caller, listener = recording.caller, Listener()
    begun_ns = caller.t0_ns + samples_to_ns(caller.turns[0].start_sample, caller.rate_hz)
    for piece in recording.arrivals:
        if piece.arrival_ns >= begun_ns:
            break
        sound = recording.agent_pcm[piece.offset_samples : piece.offset_samples + piece.count_samples]
        listener.hear(piece.arrival_ns, sound, recording.agent_rate_hz)
    return listener.sound_end_ns is not None

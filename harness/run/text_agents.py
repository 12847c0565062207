"""Text models on the same board: they write the next turn, as in the paper, and have a TTFT but no TTFA.

They have no audio, so no figure is invented for it: a text model is in the ranking and beside the plot, never on its
latency axis.
"""

from harness.agents.message import Message
from harness.agents.profile import TextProfile
from harness.agents.text import TextReply
from harness.agents.text import ask as ask_endpoint
from harness.recording.machine_track import MachineTrack
from harness.scenarios.context import Context, Turn
from harness.scenarios.pauses import without_pauses
from harness.timing.contention import of_call
from harness.timing.figures import TurnTiming

METHOD = "asked-in-text-1"


async def ask(profile: TextProfile, context: Context, url: str) -> TextReply:
    """The model's next turn after the whole context.

    Raises:
        agents.text.TextFailed: the endpoint gave no answer.
    """
    return await ask_endpoint(profile, [as_message(t) for t in context.turns], url)


def timing_of(reply: TextReply, track: MachineTrack | None) -> TurnTiming:
    """The figures of a text reply: TTFT, agent-side figures, no sound, and the use of the machine meanwhile."""
    lost = of_call(track, reply.ttft_ms) if track is not None else None
    return TurnTiming(method=METHOD, spoken_end_ms=0.0, ttfa_ms=None, ttft_ms=reply.ttft_ms, contention=lost)


def as_message(turn: Turn) -> Message:
    """A turn as a message for agents and endpoints: words only, without pause marks."""
    return Message("user" if turn.role == "seeker" else "assistant", without_pauses(turn.text))

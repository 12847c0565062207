"""Text systems on the same board: asked for the next turn in writing, as the paper does, with TTFT and no TTFA.

They have no audio, so no figure is made up for it: a text system stands in the ranking and beside the plot, never on its
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
    """The system's next turn after the whole context.

    Raises:
        agents.text.TextFailed: the endpoint gave no answer.
    """
    return await ask_endpoint(profile, [as_message(t) for t in context.turns], url)


def timing_of(reply: TextReply, track: MachineTrack | None) -> TurnTiming:
    """The figures a text reply has: TTFT, agent-side, and nothing of sound; and what the machine did while it was written."""
    lost = of_call(track, reply.ttft_ms) if track is not None else None
    return TurnTiming(method=METHOD, spoken_end_ms=0.0, ttfa_ms=None, ttft_ms=reply.ttft_ms, contention=lost)


def as_message(turn: Turn) -> Message:
    """A turn as agents and endpoints are given it: words only, pause marks taken out."""
    return Message("user" if turn.role == "seeker" else "assistant", without_pauses(turn.text))

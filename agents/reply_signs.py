"""The signs by which an agent's wire says that a reply begins, is over, or waits for a tool.

Silence cannot distinguish the end of a reply from a tool at work behind a filler, but most wires say it. Each wire's own events
arrive as marks; this is the one table of those that are signs, so that the caller and the timing read them alike. Where a wire
needs its history to know (is more still to come?), it decides as the message arrives and writes it into the mark, so that a
recording gives the same signs later.

* RTVI: `bot-stopped-speaking` is the end, unless the model writes, a function runs, or an answer has not been voiced.
* Realtime: `response.done` is the end, unless a function call is in flight. Calls are signs, tools of the server (MCP) too.
* Live models, which are full duplex: none but the work that they delegate, which is a tool.
* Gemini Live: `generationComplete`, and `turnComplete` unless it says that more follows.
* ElevenLabs: `agent_response_complete`, which an agent sends if its settings say so. Calls are signs.
* A wire that a profile describes (`[wire] signs`): its `done`, unless a tool is at work.
* Deepgram's `AgentAudioDone`, Vapi's assistant that stops to speak, Ultravox' state after `speaking`: the end, as above.
* Any wire that carries an agent's own marks: `reply_done`, `tool_called`, `tool_done`, and `llm_requested` for a begin.
* LiveKit: an agent that listens after it has spoken has ended its reply; from `thinking` on it makes one.
* SIP, and pipecat without RTVI: none.

Carriers carry marks by name (Twilio, Telnyx and Exotel `mark`, Plivo `checkpoint`, Vonage `notify`). They are signs under the
three names of the third item alone. Any other means "all that was queued has been played", and many bots ask for it after each
piece of a reply.
"""

from types import MappingProxyType
from typing import Final, Literal

from harness.agents import marks
from harness.agents.connection import Mark

ReplySign = Literal["begun", "done", "tool_called", "tool_done"]
"""`begun`: a reply, or more of one, is being made. `done`: all sound of the reply has been sent, and perhaps not yet played.
`tool_called` and `tool_done`: a function call begins and ends; `begun` after it has answered it, where a wire says no end."""

MORE_COMES: Final = "more_comes"
"""Key of a mark's detail, true on an event that looks like the end of a reply of which more is still to come."""

_OWN: Final[MappingProxyType[str, ReplySign]] = MappingProxyType(
    {
        marks.LLM_REQUESTED: "begun",
        marks.REPLY_DONE: "done",
        marks.TOOL_CALLED: "tool_called",
        marks.TOOL_DONE: "tool_done",
    }
)
_SIGNS: Final[MappingProxyType[str, ReplySign]] = MappingProxyType(
    {
        **_OWN,
        "rtvi.bot-llm-started": "begun",
        "rtvi.bot-stopped-speaking": "done",
        "rtvi.llm-function-call-in-progress": "tool_called",
        "rtvi.llm-function-call": "tool_called",
        "rtvi.llm-function-call-stopped": "tool_done",
        "realtime.response.created": "begun",
        "realtime.response.done": "done",
        "realtime.function_call.begun": "tool_called",
        "realtime.function_call.ended": "tool_done",
        "wire.requested": "begun",
        "wire.asked": "begun",
        "wire.voice": "begun",
        "wire.done": "done",
        "wire.tool_called": "tool_called",
        "wire.tool_done": "tool_done",
        "live.delegation.begun": "tool_called",
        "live.delegation.ended": "tool_done",
        "livekit.thinking": "begun",
        "livekit.speaking": "begun",
        "livekit.listening": "done",
        "gemini.audio": "begun",
        "gemini.generation_complete": "done",
        "gemini.turn_complete": "done",
        "gemini.tool_call": "tool_called",
        "gemini.tool_response": "tool_done",
        "ultravox.thinking": "begun",
        "ultravox.reply_over": "done",
        "ultravox.tool_called": "tool_called",
        "ultravox.tool_done": "tool_done",
        "vapi.model_output": "begun",
        "vapi.assistant_stopped": "done",
        "vapi.tool_called": "tool_called",
        "vapi.tool_done": "tool_done",
        "elevenlabs.agent_response_complete": "done",
        "elevenlabs.tool_call": "tool_called",
        "elevenlabs.tool_response": "tool_done",
        "deepgram.user_words": "begun",
        "deepgram.audio_done": "done",
        "deepgram.function_call.begun": "tool_called",
        "deepgram.function_call.ended": "tool_done",
    }
)
_CARRIED: Final = frozenset({"twilio.mark", "telnyx.mark", "exotel.mark", "plivo.checkpoint", "vonage.notify"})


def sign_of(mark: Mark) -> ReplySign | None:
    """The sign that a mark is; None for a mark that says nothing of the reply's end."""
    if mark.name in _CARRIED:
        return _OWN.get(str(mark.detail.get("name")))
    return None if mark.detail.get(MORE_COMES) else _SIGNS.get(mark.name)

"""The names of the marks that a cascade stamps, in the order of a plain turn.

Each is stamped where the thing happens (in the thread that does it), with `time.monotonic_ns()`. `detail` may carry
`request` (which speculation or LLM request it belongs to), so that the waterfall follows the request whose audio was
heard and draws discarded speculation beside it.
"""

from typing import Final

SPEECH_STARTED: Final = "speech_started"  # VAD: the caller began
SILENCE_SEEN: Final = "silence_seen"  # VAD: first silence noticed (may be a pause)
ASR_STARTED: Final = "asr_started"
ASR_DONE: Final = "asr_done"
TURN_SCORED: Final = "turn_scored"  # the end-of-turn score is known; `needed_ms`: the silence that it asks for
ENDPOINT_REACHED: Final = "endpoint_reached"  # `cause`: what was waited for last, a name of this list
TURN_DECIDED: Final = "turn_decided"  # endpoint: the agent decided that the caller has finished
LLM_CALLED: Final = "llm_called"  # the context reached the model's client, which makes a request of it
LLM_REQUESTED: Final = "llm_requested"  # the request leaves
LLM_BEGUN: Final = "llm_begun"  # the model's server says that it begins with the request, which has left its queue
LLM_FIRST_TOKEN: Final = "llm_first_token"  # first *answer* token; reasoning does not count
FIRST_CLAUSE: Final = "first_clause"  # text handed to synthesis
TTS_STARTED: Final = "tts_started"
TTS_FIRST_AUDIO: Final = "tts_first_audio"
AUDIO_SENT: Final = "audio_sent"  # first audio of the reply written to the wire
LLM_TIMINGS: Final = "llm_timings"  # the server's own numbers on the request; `stopped_ns`: when it was stopped
LLM_DONE: Final = "llm_done"
TTS_DONE: Final = "tts_done"
SPECULATION_DROPPED: Final = "speculation_dropped"
SLACK: Final = "slack"  # a later piece is ready; detail `slack_ms` before the one before it runs out (negative: a gap)
REPLY_DONE: Final = "reply_done"
TOOL_CALLED: Final = "tool_called"  # a function call begins: the reply is not over before it is done
TOOL_DONE: Final = "tool_done"
OF_THE_SERVER: Final = frozenset({LLM_BEGUN, LLM_TIMINGS})
"""Words of the model's server that are passed on. An agent that stamps nothing else stamps no stages."""
OF_TOOLS: Final = frozenset({TOOL_CALLED, TOOL_DONE})
"""Function calls, of which the same is true."""

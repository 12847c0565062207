"""What a room says, in the harness's terms: states of the agent, words, and the delay of the SDK's buffer. Without I/O.

Sources: livekit 1.2.1 (`livekit.rtc`), livekit-protocol 1.1.29, livekit-agents 1.8.9 (`types`, `voice.room_io`).
"""

import base64
import json
import re
import time
from collections import defaultdict
from types import MappingProxyType
from typing import Any, Final

from harness.agents.connection import ConnectionFailed, Mark, Transcript
from harness.agents.connections.what_to_check import Fault, Place, failed, fault_of_status
from harness.agents.connections.wire import shown
from harness.agents.reply_signs import MORE_COMES

STATE: Final = "lk.agent.state"
WORDS: Final = "lk.transcription"
FINAL: Final = "lk.transcription_final"
STATES: Final = frozenset({"initializing", "idle", "listening", "thinking", "speaking"})
UNREADY: Final = "initializing"
BEHIND_THE_AGENT: Final = "background_audio"
"""Name of the track on which livekit-agents plays noises of an office beside the agent's voice."""
RATE_HZ: Final = 48_000
TICK: Final = RATE_HZ // 100
"""The SDK takes and gives sound in pieces of 10 ms."""
_OVERLAP: Final = 30
"""Samples that NetEQ always holds back, to fade into what it may have to invent. Found with steps in a tone."""


class States:
    """The agent's states, as marks. A state ends a reply if the agent has spoken since it last listened."""

    def __init__(self) -> None:
        self.now = ""
        self.ever_spoke = False
        self._spoke = False

    def take(self, state: str, arrival_ns: int) -> tuple[Mark, ...]:
        """The mark of a state; none for the same one again."""
        if state == self.now:
            return ()
        self.now = state
        known = state in STATES
        detail: dict[str, object] = {"stamped": "arrival"} if known else {"stamped": "arrival", "state": shown(state)}
        if state == "listening" and not self._spoke:
            detail[MORE_COMES] = True
        self.ever_spoke = self.ever_spoke or state == "speaking"
        self._spoke = state == "speaking" or (self._spoke and state != "listening")
        return (Mark(f"livekit.{state if known else 'state'}", arrival_ns, arrival_ns, detail),)


class Words:
    """Transcripts, each once: an agent sends them as text streams, and to older SDKs as events too."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[bool, bool], list[str]] = defaultdict(list)

    def take(
        self, text: str, arrival_ns: int, *, by_caller: bool, final: bool, streamed: bool
    ) -> tuple[Transcript | Mark, ...]:
        """The transcript of a segment, and a mark if it is the caller's last; nothing for what has come the other way."""
        if not text.strip() or not (final or streamed):
            return ()
        if final:
            other = self._waiting[by_caller, not streamed]
            if text in other:
                other.remove(text)
                return ()
            self._waiting[by_caller, streamed].append(text)
        said = Transcript(arrival_ns, "user" if by_caller else "assistant", text, final)
        if by_caller and final:
            return (said, Mark("livekit.user_transcription", arrival_ns, arrival_ns, {"stamped": "arrival"}))
        return (said,)


class BufferDelay:
    """The time that sound spends in the SDK's jitter buffer (NetEQ), which is no part of the agent's answer.

    The SDK hands sound out 28 to 53 ms after its packet came (loopback), and does not say when that was. Its statistics do: the
    mean wait of the packets that were decoded, and by how many samples the sound was stretched; what of that is no whole piece
    of 10 ms is sound that waits decoded.
    """

    def __init__(self) -> None:
        self.ns = 0
        self.lost = 0
        self.packets = 0
        self._emitted = 0
        self._waited_s = 0.0

    def take(self, stats: Any) -> None:
        """Take `InboundRtpStats`: its parts `inbound` and `received`."""
        inbound = stats.inbound
        self.lost, self.packets = max(0, int(stats.received.packets_lost)), int(stats.received.packets_received)
        decoded = int(inbound.jitter_buffer_emitted_count) - self._emitted
        if decoded <= 0:
            return
        waited_s = (inbound.total_processing_delay - self._waited_s) / decoded
        self._emitted, self._waited_s = int(inbound.jitter_buffer_emitted_count), inbound.total_processing_delay
        stretched = int(
            inbound.inserted_samples_for_deceleration - inbound.removed_samples_for_acceleration + inbound.concealed_samples
        )
        self.ns = max(0, round((waited_s + (stretched % TICK + _OVERLAP) / RATE_HZ) * 1e9))


_STATUS: Final = re.compile(r"error: (\d{3})\b[^-]*(?:- (.*))?", re.DOTALL)
_SAYS: Final[MappingProxyType[str, Fault]] = MappingProxyType(
    {
        "refused": "nothing_listens",
        "lookup": "unknown_host",
        "not known": "unknown_host",
        "corrupt message": "no_tls",
        "certificate": "certificate_untrusted",
    }
)


def refusal(words: str, place: Place) -> ConnectionFailed:
    """The failure of a room that the SDK could not join; `words` are its own, with the server's in them."""
    found = _STATUS.search(words)
    if found is None:
        fault: Fault = next((fault for part, fault in _SAYS.items() if part in words), "failed_otherwise")
        return failed(fault, place, detail=words.rpartition("engine: ")[2])
    status, said = int(found[1]), shown((found[2] or "").strip(), 120)
    keys = " and ".join(place.keys)
    if status == 401:
        mend = f"are {keys} of this server's project, and neither in the other's place?" if keys else "has its token expired?"
        return ConnectionFailed(f"it refuses the key (HTTP 401: {said}): {mend}", "unauthorised", "wrong_key")
    fault = fault_of_status(status, keyed=True)
    if fault in ("busy", "turned_away"):
        row: Any = {"busy": "busy", "turned_away": "unauthorised"}[fault]
        return ConnectionFailed(
            f"it takes no such caller (HTTP {status}: {said}): check its plan, its quota, {keys}", row, fault
        )
    return failed(fault, place, status=status, detail=f": {said}" if said else "")


def fault_of_token(token: str) -> str:
    """What is wrong with a token that somebody else made; empty where nothing is, or only the server can say."""
    try:
        body = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        grants = claims.get("video") or {}
        if float(claims.get("exp", "inf")) < time.time():
            return "a token that has expired"
        return "" if grants.get("roomJoin") and grants.get("room") else "a token without the grant room_join for a room"
    except (ValueError, IndexError, AttributeError, TypeError, RecursionError):
        return "something that is no token (a JWT)"


def missing(agent_name: str, *, joined: bool, published: bool, heard: bool) -> tuple[str, Any]:
    """What a call still waits for in its room, with what would mend it, and the kind of that failure."""
    if heard:
        return f"the agent is still {UNREADY}: its session has not started; its own log says why", "open_timeout"
    if published:
        return (
            "the agent's track could not be subscribed to: does the token let it (can_subscribe), and does UDP get through?",
            "no_media",
        )
    if joined:
        return "the agent joined the room and published no sound: check its audio output, and its own log", "no_media"
    if agent_name:
        return (
            f'no agent joined the room: is a worker running that is registered at this server as agent_name "{agent_name}"?',
            "not_found",
        )
    return (
        "no agent joined the room: is a worker running? One registered under an agent_name must be named: set agent_name",
        "not_found",
    )

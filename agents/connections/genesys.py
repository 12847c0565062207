"""Genesys AudioHook with the harness in Genesys' place, to call unmodified telephone bots of an Audio Connector.

The bot answers `open` with `opened`, before which it hears nothing; sound is binary μ-law at 8 kHz both ways. The harness pings
as the carrier does, says when playback begins and ends, and drops what has not been played at the bot's `barge_in`. A bot that
wants to end the call says `disconnect`, and the carrier closes.

Source: `pipecat.serializers.genesys` of pipecat 1.14 (AudioHook, version 2), and `docs.pipecat.ai` on it.
"""

import json
import secrets
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from harness.agents.connection import AGENT_ERROR, Connection, ConnectionFailed
from harness.agents.connections.carrier import CALLED, CALLER, RATE_HZ, CarrierWire, TelephoneBot, about_bot, call
from harness.agents.connections.websocket import settings_of
from harness.agents.connections.wire import NOTHING, Garbage, NotOfThisWire, Outgoing, Received, arrived, parse_object, shown

VERSION: Final = "2"
PING_FRAMES: Final = 250
"""Five seconds: a bot may hang up on a carrier from which it hears no ping."""
MEDIA: Final = {"type": "audio", "format": "PCMU", "channels": ["external"], "rate": RATE_HZ}


class GenesysWire(CarrierWire):
    """One call over AudioHook. `parameters` are the `inputVariables` of the flow."""

    kind = "genesys"

    def __init__(self, parameters: Mapping[str, str] | None = None) -> None:
        super().__init__(parameters)
        self._session, self._conversation = str(uuid.uuid4()), str(uuid.uuid4())
        self._heard_seq = 0
        self._opened = self._playing = False

    @property
    def ready(self) -> bool:
        return self._opened

    @property
    def waits_for(self) -> str:
        return 'the bot\'s answer to "open" ("opened" with its media)'

    def begin(self) -> Sequence[Outgoing]:
        who = {"id": str(uuid.uuid4()), "ani": CALLER, "aniName": "caller", "dnis": CALLED}
        return (
            self._says(
                "open",
                organizationId=secrets.token_hex(16),
                conversationId=self._conversation,
                participant=who,
                media=[MEDIA],
                language="en-US",
                inputVariables=self._parameters,
            ),
        )

    def receive(self, message: str | bytes, arrival_ns: int) -> Received:
        if isinstance(message, bytes):
            begins = () if self._playing else (self._says("playback_started"),)
            received = self.sound(message, arrival_ns)
            self._playing = self._playing or bool(message)
            return Received(received.events, begins if message else ())
        data = parse_object(message)
        kind, more = data.get("type"), data.get("parameters")
        if not isinstance(kind, str) or data.get("version") != VERSION:
            raise NotOfThisWire(f"text that is no message of AudioHook 2: {shown(message)}")
        self._heard_seq = data["seq"] if isinstance(data.get("seq"), int) else self._heard_seq
        return self._on(kind, more if isinstance(more, dict) else {}, arrival_ns)

    def _on(self, kind: str, more: Mapping[str, Any], arrival_ns: int) -> Received:
        match kind:
            case "opened":
                return self._on_opened(more)
            case "event" if any(isinstance(one, dict) and one.get("type") == "barge_in" for one in _listed(more, "entities")):
                return self.clear(arrival_ns)
            case "disconnect":
                leaves = arrived("genesys.disconnect", arrival_ns, reason=shown(str(more.get("reason", "")), 100))
                return Received(events=(leaves,), replies=tuple(self.goodbye()))
            case "error":
                said = f"{more.get('code', '')} {more.get('message', '')}".strip()
                if not self._opened:
                    raise ConnectionFailed(f"the bot refuses the call: {shown(said, 200)}", "refused")
                return Received(events=(arrived(AGENT_ERROR, arrival_ns, message=shown(said, 200)),))
        return NOTHING

    def _on_opened(self, more: Mapping[str, Any]) -> Received:
        chosen = _listed(more, "media")
        spoken = [one for one in chosen if isinstance(one, dict) and one.get("format") == "PCMU" and one.get("rate") == RATE_HZ]
        if not spoken:
            raise ConnectionFailed(f"the bot takes none of the offered sound (PCMU at 8 kHz): {shown(repr(chosen))}", "codec")
        if any(len(_listed(one, "channels")) > 1 for one in spoken):
            raise Garbage("the bot chose two channels, and was offered its caller's alone")
        self._opened = True
        return NOTHING

    def audio(self, frame: bytes, now_ns: int) -> Sequence[Outgoing]:
        sent = super().audio(frame, now_ns)
        ended = self._playing and self._playout.until_ns <= now_ns
        self._playing = self._playing and not ended
        ping = () if self._frames % PING_FRAMES else (self._says("ping"),)
        return (*sent, *ping, *((self._says("playback_completed"),) if ended else ()))

    def media(self, coded: bytes, chunk: int, at_ms: int) -> Outgoing:
        del chunk, at_ms
        return coded

    def goodbye(self) -> Sequence[Outgoing]:
        return (self._says("close", reason="end"),)

    def _says(self, kind: str, **parameters: Any) -> str:
        self._sequence += 1
        position_s = self._frames / 50
        return json.dumps(
            {
                "version": VERSION,
                "id": self._session,
                "type": kind,
                "seq": self._sequence,
                "serverseq": self._heard_seq,
                "position": f"PT{position_s:.2f}S",
                "parameters": parameters,
            }
        )


def _listed(data: Mapping[str, Any], name: str) -> Sequence[Any]:
    found = data.get(name)
    return found if isinstance(found, list) else []


class GenesysProfile(TelephoneBot):
    """A bot that serves Genesys AudioHook. `parameters`: the `inputVariables` of its flow."""

    kind: Literal["genesys"]


PROFILE: Final = GenesysProfile
ABOUT: Final = about_bot("Genesys AudioHook", "# The bot has a route of its own with GenesysAudioHookSerializer.")


def connect(url: str, options: Mapping[str, Any]) -> Connection:
    """A call to a bot for AudioHook; options: `parameters` (strings by name), and every wire's."""
    return call(url, GenesysWire(**settings_of(options, "parameters")), options, ABOUT)

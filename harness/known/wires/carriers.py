"""Known agents as telephone bots, which a carrier calls over a WebSocket.

The formats differ in few words, which are one table here; a carrier says in its first message how its caller sounds. A bot may
send any length at any speed, because the carrier holds the playout buffer, so the agent needs neither marks nor clears.

Source: the carriers' own descriptions of their streams; Genesys: AudioHook 2 as `pipecat.serializers.genesys` speaks it.
"""

import base64
import json
from functools import partial
from typing import Final

from websockets.asyncio.server import ServerConnection

from harness.audio.pcm import Int16, Law, decode, encode
from harness.known.behaviours import Mistake
from harness.known.conduct import Message as Sound
from harness.known.server import Calls, Ready
from harness.known.wires.sockets import Message, Session, begin, converse, converse_binary, pcm, samples_of, serve_sockets

_LAWS: Final[dict[str, Law]] = {"audio/x-mulaw": "ulaw", "PCMU": "ulaw", "PCMA": "alaw"}
"""Encodings by the carriers' names; any other is PCM16LE."""
_STREAMS: Final = {"twilio": "streamSid", "telnyx": "stream_id", "exotel": "stream_sid", "plivo": "streamId"}
"""The name of the stream in a carrier's messages."""
_MEDIA: Final = {"type": "audio", "format": "PCMU", "channels": ["external"], "rate": 8_000}
_ANSWERS: Final = {"open": "opened", "ping": "pong", "close": "closed"}


async def serve(wire: str, calls: Calls, host: str, port: int, ready: Ready) -> None:
    """Serve the streams of a carrier."""
    await serve_sockets(_SESSIONS[wire], calls, host, port, ready)


def _coded(samples: Int16, law: Law | None, mistake: Mistake | None) -> bytes:
    """The samples in a law, or in PCM16LE. A law has no order of bytes: there, the other law is the mistake."""
    if law is None:
        return pcm(samples, mistake)
    wrong = mistake == "byte-order"
    other: Law = "alaw" if law == "ulaw" else "ulaw"
    return encode(samples_of(pcm(samples, None if wrong else mistake)), other if wrong else law)


async def _json(carrier: str, socket: ServerConnection, calls: Calls) -> None:
    """Sound in base64 in JSON, after a message that describes it."""
    while (first := json.loads(await socket.recv()))["event"] != "start":
        pass
    form = first["start"].get("mediaFormat") or first["start"]["media_format"]
    name, rate_hz = str(form["encoding"]), int(form.get("sampleRate") or form["sample_rate"])
    hears = _LAWS.get(name)
    # Telnyx takes replies in the law that the stream was ordered with: by default this one, whatever its caller's is.
    says: Law | None = "ulaw" if carrier == "telnyx" else hears
    stream = {_STREAMS[carrier]: {**first["start"], **first}[_STREAMS[carrier]]}
    conduct = begin(socket, calls, rate_hz, rate_hz)
    mistake = conduct.behaviour.mistake

    def said(sound: Sound) -> tuple[str]:
        media = {"payload": base64.b64encode(_coded(sound.samples, says, mistake)).decode()}
        if carrier == "plivo":
            return (json.dumps({"event": "playAudio", "media": {"contentType": name, "sampleRate": rate_hz, **media}}),)
        return (json.dumps({"event": "media", **stream, "media": media}),)

    def heard(message: Message) -> Int16 | None:
        coded = base64.b64decode(json.loads(message).get("media", {}).get("payload", ""))
        return (decode(coded, hears) if hears else samples_of(coded)) if coded else None

    await converse(socket, calls, conduct, said, heard)


async def _vonage(socket: ServerConnection, calls: Calls) -> None:
    """Binary PCM16LE, after a message with its rate."""
    rate_hz = int(json.loads(await socket.recv())["content-type"].rpartition("rate=")[2])
    await converse_binary(socket, calls, rate_hz, rate_hz)


async def _genesys(socket: ServerConnection, calls: Calls) -> None:
    """Binary μ-law, and JSON that is answered: the opening, the pings and the end."""
    count = 0

    def answered(message: str) -> str | None:
        nonlocal count
        data = json.loads(message)
        if (kind := _ANSWERS.get(data["type"])) is None:
            return None
        count += 1
        more = {"media": [_MEDIA]} if kind == "opened" else {}
        said = {"version": "2", "id": data["id"], "type": kind, "seq": count, "clientseq": data["seq"], "parameters": more}
        return json.dumps(said)

    await socket.send(answered(await socket.recv(decode=True)) or "")
    conduct = begin(socket, calls, 8_000, 8_000)
    mistake = conduct.behaviour.mistake
    await converse(
        socket, calls, conduct, lambda sound: (_coded(sound.samples, "ulaw", mistake),),
        lambda m: decode(m, "ulaw") if isinstance(m, bytes) else answered(m),
    )  # fmt: skip


_SESSIONS: Final[dict[str, Session]] = {
    **{carrier: partial(_json, carrier) for carrier in _STREAMS}, "vonage": _vonage, "genesys": _genesys,
}  # fmt: skip

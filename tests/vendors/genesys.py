"""A bot of Genesys AudioHook, whose every message pipecat's own serializer reads and writes."""

import asyncio
import json
from types import SimpleNamespace
from typing import Any, cast

from pipecat.frames.frames import (
    EndFrame,
    InputAudioRawFrame,
    InterruptionFrame,
    OutputAudioRawFrame,
    OutputTransportMessageUrgentFrame,
)
from pipecat.serializers.genesys import AudioHookMediaFormat, GenesysAudioHookSerializer
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from tests.vendors.answering import Answer, main

RATE_HZ = 8_000


async def session(socket: ServerConnection, answer: Answer, behaviour: str) -> None:
    """Answer one caller."""
    l16 = AudioHookMediaFormat.L16 if behaviour == "l16" else AudioHookMediaFormat.PCMU
    bot = GenesysAudioHookSerializer(GenesysAudioHookSerializer.InputParams(sample_rate=RATE_HZ, media_format=l16))
    await bot.setup(cast(Any, SimpleNamespace(audio_in_sample_rate=RATE_HZ)))
    heard: list[str] = []
    try:
        async for message in socket:
            if isinstance(message, str):
                heard.append(json.loads(message)["type"])
            if heard == ["open"] and behaviour == "refuses":
                await socket.send(json.dumps(bot.create_error_message(403, "This flow may not open sessions")))
                continue
            frame = await bot.deserialize(message)
            if isinstance(frame, OutputTransportMessageUrgentFrame):
                await socket.send(json.dumps(frame.message))
            if isinstance(frame, InputAudioRawFrame) and answer.hears(frame.audio):
                asyncio.get_running_loop().create_task(_reply(socket, bot, answer, behaviour))
    except ConnectionClosed:
        pass  # the carrier does not wait for "closed"
    finally:
        print(json.dumps({"note": heard}), flush=True)


async def _reply(socket: ServerConnection, bot: GenesysAudioHookSerializer, answer: Answer, behaviour: str) -> None:
    async for piece in answer.pieces():
        sound = await bot.serialize(OutputAudioRawFrame(audio=piece, sample_rate=RATE_HZ, num_channels=1))
        if isinstance(sound, bytes):
            await socket.send(sound)
        if behaviour == "drops":
            socket.transport.abort()
            return
    if behaviour == "interrupts":
        await socket.send(cast(str, await bot.serialize(InterruptionFrame())))
    if behaviour == "leaves":
        await socket.send(cast(str, await bot.serialize(EndFrame())))


if __name__ == "__main__":
    main(session, RATE_HZ, ("refuses", "l16", "drops", "interrupts", "leaves"))

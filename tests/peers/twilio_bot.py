"""A telephone bot for Media Streams that leans on the playout buffer: it says everything at once, marks it, and may clear it.

It greets with one second of sound and a mark behind it, prints when the mark comes back, and on the first loud frame of
the caller clears what has not been played.
"""

import asyncio
import base64
import json
import sys
import time

from websockets.asyncio.server import ServerConnection, serve

SECOND, QUIET = bytes([0x10]) * 8_000, 0xFF


async def call(socket: ServerConnection) -> None:
    connected, start = json.loads(await socket.recv()), json.loads(await socket.recv())
    assert connected == {"event": "connected", "protocol": "Call", "version": "1.0.0"}
    assert start["sequenceNumber"] == "1"
    assert start["start"]["mediaFormat"] == {"encoding": "audio/x-mulaw", "sampleRate": 8000, "channels": 1}
    stream = start["streamSid"]

    async def tell(event: str, **content: object) -> None:
        await socket.send(json.dumps({"event": event, "streamSid": stream, **content}))

    await tell("mark", mark={"name": "nothing before"})
    await tell("media", media={"payload": base64.b64encode(SECOND).decode()})
    await tell("mark", mark={"name": "greeted"})
    began, expected, cleared = time.monotonic(), 2, False
    async for message in socket:
        said = json.loads(message)
        if said["event"] == "stop":
            print("stopped", flush=True)
            return
        assert said["sequenceNumber"] == str(expected)
        expected += 1
        if said["event"] == "mark":
            print("mark", said["mark"]["name"], round((time.monotonic() - began) * 1e3), flush=True)
        elif said["event"] == "media":
            law = base64.b64decode(said["media"]["payload"], validate=True)
            assert len(law) == 160
            assert said["media"]["track"] == "inbound"
            if any(byte != QUIET for byte in law) and not cleared:
                cleared = True
                await tell("media", media={"payload": base64.b64encode(SECOND).decode()})
                await tell("mark", mark={"name": "never heard"})
                await tell("clear")


async def main() -> None:
    async with serve(call, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        print(json.dumps({"event": "ready", "url": f"ws://127.0.0.1:{port}/"}), flush=True)
        await server.serve_forever()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))

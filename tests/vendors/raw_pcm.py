"""The raw-pcm wire, to which the vendors' are compared."""

import json

from websockets.asyncio.server import ServerConnection

from tests.vendors.answering import Answer, main

RATE_HZ = 24_000


async def session(socket: ServerConnection, answer: Answer, behaviour: str) -> None:
    """Answer one caller."""
    del behaviour
    await socket.send(json.dumps({"type": "start", "sample_rate": RATE_HZ}))
    async for message in socket:
        if isinstance(message, bytes) and answer.hears(message):
            async for piece in answer.pieces():
                await socket.send(piece)


if __name__ == "__main__":
    main(session, RATE_HZ, ())

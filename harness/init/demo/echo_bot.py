"""A voice agent of Python alone: it waits for a silence, and says the caller's first words back.

It speaks the raw-PCM protocol of the harness: a WebSocket, 16-bit mono sound both ways, and a "start" message that it answers.
"""

import asyncio
import base64
import hashlib
import json
import struct
import sys

WAIT_MS = 2_500  # the silence that ends the caller's turn: the line to change
RATE_HZ, LOUD, FIRST_WORDS_S = 16_000, 200, 1.5
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer a WebSocket's handshake (RFC 6455)."""
    lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    key = next(line.split(":", 1)[1].strip() for line in lines if line.lower().startswith("sec-websocket-key:"))
    proof = base64.b64encode(hashlib.sha1(f"{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11".encode()).digest()).decode()
    upgrade = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    writer.write(f"{upgrade}Sec-WebSocket-Accept: {proof}\r\n\r\n".encode())


async def read(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """The kind and the content of the next message; a client masks what it sends."""
    kind, size = await reader.readexactly(2)
    size &= 127
    if size > 125:
        size = int.from_bytes(await reader.readexactly(2 if size == 126 else 8), "big")
    mask = await reader.readexactly(4) * (size // 4 + 1)
    masked = await reader.readexactly(size)
    return kind & 15, (int.from_bytes(masked, "big") ^ int.from_bytes(mask[:size], "big")).to_bytes(size, "big")


def send(writer: asyncio.StreamWriter, kind: int, content: bytes) -> None:
    size = len(content)
    length = (
        bytes([size])
        if size < 126
        else b"\x7e" + struct.pack(">H", size)
        if size < 1 << 16
        else b"\x7f" + struct.pack(">Q", size)
    )
    writer.write(bytes([128 | kind]) + length + content)


async def call(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    words, before, silent_ms, speaks_until_s = bytearray(), b"", 0.0, 0.0
    try:
        await accept(reader, writer)
        kind = TEXT
        while kind != CLOSE:
            kind, content = await read(reader)
            if kind == PING:
                send(writer, PONG, content)
            elif kind == TEXT and json.loads(content).get("type") == "start":
                send(writer, TEXT, json.dumps({"type": "start", "sample_rate": RATE_HZ}).encode())
                send(writer, TEXT, json.dumps({"type": "ready"}).encode())
            elif kind == BINARY:
                now_s = asyncio.get_running_loop().time()
                loud = max(map(abs, memoryview(content).cast("h")), default=0) > LOUD
                silent_ms = 0.0 if loud else silent_ms + 1_000 * len(content) / 2 / RATE_HZ
                if loud and now_s < speaks_until_s:  # interrupted: drop what has not been heard yet
                    send(writer, TEXT, json.dumps({"type": "clear"}).encode())
                    speaks_until_s = 0.0
                if loud or words:
                    words += content if words else before + content
                    del words[int(FIRST_WORDS_S * RATE_HZ) * 2 :]
                before = content
                if words and silent_ms >= WAIT_MS:
                    send(writer, BINARY, bytes(words))
                    speaks_until_s = now_s + len(words) / 2 / RATE_HZ
                    words.clear()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass  # hung up
    finally:
        writer.close()


async def main() -> None:
    server = await asyncio.start_server(call, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())

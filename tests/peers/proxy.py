"""A line between a caller and an agent that can be cut: forwards one TCP port to another until its process is ended.

`python proxy.py PORT [LISTEN]` prints the port that it listens on (LISTEN, or one of the system's choice).
"""

import asyncio
import contextlib
import sys


async def forward(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await source.read(65_536):
            sink.write(data)
            await sink.drain()
    sink.close()


async def main(port: int, listen: int) -> None:
    async def join(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(forward(reader, far_writer), forward(far_reader, writer))

    server = await asyncio.start_server(join, "127.0.0.1", listen)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0))

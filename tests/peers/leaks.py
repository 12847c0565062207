"""An agent that tells everybody its keys: on its output, in its ready line, in what it sends, in how it hangs up.

`python leaks.py --ending answers|crashes --api-key KEY`. It answers as `agent.py` does, unless it crashes.
"""

import argparse
import asyncio
import base64
import json
import os
import sys
from urllib.parse import quote

from agent import echo
from websockets.asyncio.server import ServerConnection, serve
from wires import RawPcmPeer


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ending", choices=("answers", "crashes"), required=True)
    parser.add_argument("--api-key", required=True)
    parser.add_argument("--password")
    parser.add_argument("--pin")
    parser.add_argument("-u")
    parser.add_argument("--met", default="")
    options = parser.parse_args()
    key = options.api_key
    spelt = quote(key, safe="")
    print("started as", sys.argv, "with", dict(os.environ), flush=True)
    print("as settings:", *(f"{name}={value}" for name, value in os.environ.items()), flush=True)
    print("as PHP writes it:", json.dumps(key).replace("/", "\\/"), "in an address:", key.replace("/", "%2f"), flush=True)
    print("base64:", base64.b64encode(key.encode()).decode(), base64.b64encode(f"me:{key}".encode()).decode(), flush=True)
    print("met on the way:", options.met, flush=True)

    async def session(socket: ServerConnection) -> None:
        assert socket.request is not None
        print("asked for", socket.request.path, "with", dict(socket.request.headers), flush=True)
        print("x" * 5_000 + key + " authorization: Basic", socket.request.headers.get("Authorization"), flush=True)
        peer = RawPcmPeer(socket)
        if options.ending == "crashes":
            await peer.greet()
            await peer.mark("tried", key=key, **{key: 1})
            print(f"no newline, but {key}", end="", flush=True)
            await asyncio.sleep(0.3)
            print(file=sys.stderr)
            await socket.close(1011, f"401 for {key}")
            raise ValueError(f"the service refused {key}")
        telling = asyncio.create_task(_tell(peer, key))
        await echo(peer)
        await telling

    async with serve(session, "127.0.0.1", 0, compression=None) as server:
        port = server.sockets[0].getsockname()[1]
        print(json.dumps({"event": "ready", "url": f"ws://caller:{spelt}@127.0.0.1:{port}/ws?token={spelt}"}), flush=True)
        await server.serve_forever()


async def _tell(peer: RawPcmPeer, key: str) -> None:
    await asyncio.sleep(1.0)
    await peer.mark("used", key=key)
    await peer.transcript("user", f"what the caller said to {key}")
    await peer.transcript("assistant", f"I hear you. My key is {key}.")


if __name__ == "__main__":
    asyncio.run(main())

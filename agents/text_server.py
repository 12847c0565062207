"""A local language model as the endpoint of a text profile, for machines without any other.

The text system of a board and the cascade beside it must be able to run on the same weights, or their difference says
nothing about speech. So the model is served by the same server that the cascade starts for itself.
"""

import argparse
import asyncio
import json
import signal
import sys

from harness.agents.cascade.settings import LlmSettings
from harness.agents.llm_server import LlmServer, ServerFailed, ServerOptions


def main() -> None:
    """Serve a GGUF file until SIGTERM; one JSON line on standard output says when and where it is ready."""
    parser = argparse.ArgumentParser(prog="python -m harness.agents.text_server")
    parser.add_argument("--model", required=True)
    try:
        asyncio.run(_serve(parser.parse_args().model))
    except ServerFailed as wrong:
        sys.exit(f"text server: {wrong}")


async def _serve(model: str) -> None:
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    settings = LlmSettings()
    server = LlmServer(ServerOptions(model=model, threads=settings.threads, prompt_threads=settings.prompt_threads))
    await server.start()
    print(json.dumps({"event": "ready", "url": server.base_url}), flush=True)
    await stopped.wait()
    await server.stop()


if __name__ == "__main__":
    main()

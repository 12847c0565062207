"""pipecat's own evaluation client, calling one bot: `python eval_client.py URL WAV`.

First it speaks the sound file to the bot, then it writes to it, each after the same conversation so far. Prints the events that
pipecat made of each, as one JSON object.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from pipecat.evals.client import EvalClient, EvalClientParams
from pipecat.evals.events import EvalEventStream
from pipecat.evals.results import EvalTrace

HISTORY = [{"role": "user", "content": "My dog died."}, {"role": "assistant", "content": "I am so sorry. Tell me about him."}]
WRITTEN = "I miss him every morning."


@asynccontextmanager
async def evaluated(url: str, params: EvalClientParams) -> AsyncIterator[tuple[EvalClient, EvalEventStream]]:
    trace = EvalTrace()  # type: ignore[no-untyped-call]
    stream = EvalEventStream(bot_audio=params.bot_audio, trace=trace)
    client = EvalClient(url, params=params, stream=stream, trace=trace)
    await client.wait_for_bot()
    await client.start()
    try:
        await client.handshake()
        yield client, stream
    finally:
        await client.stop()


async def until(stream: EvalEventStream, kinds: set[str]) -> list[dict[str, Any]]:
    """The events so far, once one of the kinds has come; or after a while, whatever came."""
    for _ in range(800):
        if any(event["type"] in kinds for event in stream.events_seen):
            break
        await asyncio.sleep(0.05)
    return stream.events_seen


async def main(url: str, sound: str) -> None:
    params = EvalClientParams(bot_audio=True, user_audio=True, capture_bot_audio=True, context=HISTORY)
    async with evaluated(url, params) as (client, stream):
        await client.play(sound)
        spoken = await until(stream, {"bot_stopped_speaking"})
    async with evaluated(url, EvalClientParams(context=HISTORY)) as (client, stream):
        await client.send_text(WRITTEN)
        written = await until(stream, {"llm_response"})
    print(json.dumps({"spoken": spoken, "written": written}, default=str))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:3]))

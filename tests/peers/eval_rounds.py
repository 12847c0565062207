"""pipecat's own evaluation client calls an agent of this project: ten evaluations, each of a spoken and a written turn.

Prints one JSON object: the turns, those that were answered by the client's own events, and the version of pipecat.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np
import soundfile

from harness import models
from harness.agents.process import AgentProcess
from harness.agents.profile import load_profile
from harness.audio.pcm import resample
from harness.scenarios.context import Turn
from harness.scenarios.pack import load_pack
from harness.voices.choice import open_voices

AGENT: Final = "polaris-like"
ROUNDS: Final = 10
RATE_HZ: Final = 16_000
CLIENT: Final = Path(__file__).with_name("eval_client.py")
TURNS: Final = load_pack(str(Path(__file__).with_name("twenty-turns.yaml"))).contexts


def render(folder: Path, taken: tuple[str, ...]) -> list[Path]:
    """The last turns of the pack as sound files, each with a second of silence behind it."""
    voices = open_voices(load_pack("heart-mini"), taken=taken)
    files = []
    for context in TURNS:
        spoken = voices.render(Turn(role="seeker", text=context.spoken.text), "clear")
        samples = resample(spoken.samples, spoken.rate_hz, RATE_HZ)
        files.append(folder / f"{context.id}.wav")
        soundfile.write(files[-1], np.concatenate([samples, np.zeros(RATE_HZ, np.int16)]), RATE_HZ, subtype="PCM_16")
    return files


def answered(seen: Mapping[str, Any]) -> int:
    """The number of the two turns of an evaluation that were answered."""
    spoken = {event["type"] for event in seen["spoken"]}
    written = {event["type"]: event for event in seen["written"]}
    return int("bot_started_speaking" in spoken) + int(bool(written.get("llm_response", {}).get("text")))


async def main() -> None:
    profile = load_profile(AGENT)
    weights = {name: models.resolve(name) for name in profile.weights}
    with tempfile.TemporaryDirectory(prefix="eval-rounds-") as scratch:
        files = render(Path(scratch), profile.own_voices)
        agent = AgentProcess(profile, weights, Path(scratch) / "agent.log")
        await agent.start()
        try:
            count = 0
            for number in range(ROUNDS):
                command = [sys.executable, str(CLIENT), agent.url.replace("/ws", "/eval"), str(files[number % len(files)])]
                done = await asyncio.to_thread(
                    subprocess.run, command, capture_output=True, text=True, timeout=150, check=False
                )
                if done.returncode:
                    print(done.stderr[-2_000:], file=sys.stderr)
                else:
                    count += answered(json.loads(done.stdout.splitlines()[-1]))
        finally:
            await agent.stop()
    print(json.dumps({"turns": 2 * ROUNDS, "answered": count, "versions": f"pipecat-ai {version('pipecat-ai')}"}))


if __name__ == "__main__":
    asyncio.run(main())
